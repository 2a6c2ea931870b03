"""The planner of an OpenStack service, from its definition."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from cobaltcore.api import base
from cobaltcore.api.foreign import certmanager, mariadb, rabbitmq
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine import (
    access,
    chain,
    references,
    releases,
    steps,
    usability,
    uwsgi,
    watches,
)
from cobaltcore.engine.definition import AnyScope, AnyService, ServiceScope
from cobaltcore.engine.desired import service as address
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Child, Planner, Probe, Watch
from cobaltcore.engine.verdict import Ready
from cobaltcore.engine.watches import CONTENT, OPTIONAL, OURS
from cobaltcore.runtime.meta import Key, Kind, Object

CHILDREN = (
    Child(DEPLOYMENT, OURS),
    Child(SERVICE, OURS),
    Child(POD_DISRUPTION_BUDGET, OURS),
    Child(JOB, OURS),
    Child(CONFIG_MAP, CONTENT),
    Child(SECRET, CONTENT),
    Child(mariadb.DATABASE, OPTIONAL),
    Child(mariadb.USER, OPTIONAL),
    Child(mariadb.GRANT, OPTIONAL),
    Child(certmanager.CERTIFICATE, OPTIONAL),
)
"""Of every service."""
BROKER = (
    Child(rabbitmq.VHOST, OPTIONAL),
    Child(rabbitmq.USER, OPTIONAL),
    Child(rabbitmq.PERMISSION, OPTIONAL),
)
"""Of services whose specs have a message broker."""
FURTHER = {DAEMON_SET: OURS, PERSISTENT_VOLUME_CLAIM: OURS, certmanager.ISSUER: OPTIONAL}
"""Of services that name them: what is cached of each."""
SERVICE_GROUP = ".openstack.c5c3.io"


class ServicePlanner(Planner[ServiceScope[Any]]):
    """Runs the chain of steps of one service."""

    def __init__(self, service: AnyService, *, probes: Iterable[Probe[AnyScope]] = ()) -> None:
        self.service = service
        self.probes = tuple(probes)
        self.name = service.name
        self.children = children(service)
        self.manager = f"{service.name}-operator"
        self.resource = service.resource
        self.scope = partial(ServiceScope, service=service)
        self.watches = tuple(_watches(service))

    def references(self, key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
        yield from references.named(key.namespace, spec)
        yield from references.clusters(key.namespace, spec)
        yield from references.depended_on(key.namespace, spec)
        yield from self.service.references(key, spec)
        for kind, name in self.service.generated(key.name):
            yield kind, Key(key.namespace, name)
        for need in self.service.passwords(key.name, spec):
            yield SECRET, Key(key.namespace, need.name)

    def contents(self, scope: ServiceScope[Any]) -> Iterator[tuple[Kind, Key]]:
        for kind, key in self.references(scope.key, scope.spec):
            if kind in (SECRET, CONFIG_MAP):
                yield kind, key
        for need in access.generated(scope):
            yield SECRET, scope.sibling(need.name)
        if uwsgi.is_encrypted(scope):
            yield SECRET, usability.certificate_key(scope)

    def plan(self, scope: ServiceScope[Any]) -> Plan[Any]:
        before = scope.status or self.service.status()
        outcome = chain.run(scope, steps.chain(scope), previous=before.conditions)
        status = msgspec.structs.replace(
            before, endpoint=endpoint(scope), **_pods(scope), **outcome.status
        )
        if isinstance(outcome.verdict, Ready):
            # What all pods have; an image that is of no release has none.
            status = msgspec.structs.replace(
                status,
                application_credential_id=access.credential_in_use(scope),
                installed_release=releases.release_of(scope.service.name, scope.image),
            )
        return Plan(
            verdict=outcome.verdict,
            conditions=outcome.conditions,
            status=status,
            objects=list(outcome.objects.values()),
            links=outcome.links,
            removals=outcome.removals,
            prune=outcome.complete,
            after=outcome.after,
        )


def children(service: AnyService) -> tuple[Child, ...]:
    """Kinds that a service creates: its operator may write these and no others."""
    types = {field.name: field.type for field in msgspec.structs.fields(service.resource)}
    broker = BROKER if "messaging" in types["spec"].__struct_fields__ else ()
    return (*CHILDREN, *broker, *(Child(kind, FURTHER[kind]) for kind in service.creates))


def endpoint(scope: AnyScope) -> str:
    """The address of the API inside the cluster."""
    return f"{uwsgi.scheme(scope)}://{address.host(scope.key)}:{scope.service.port}"


def _watches(service: AnyService) -> Iterator[Watch]:
    for child in children(service):
        yield watches.labelled(child.kind, service.name, child.scope)
        yield watches.referenced(child.kind, child.scope)
    yield watches.granted()
    yield watches.referenced(mariadb.MARIADB, OPTIONAL)
    yield watches.referenced(STATEFUL_SET)
    for kind, scope in service.watches.items():
        yield watches.referenced(kind, scope)
    for kind in service.follows:
        yield watches.everyone(kind)
    for kind in _other_services(service):
        yield watches.referenced(kind)
    yield watches.pods(service.name)
    slices = watches.labelled(ENDPOINT_SLICE, service.name)
    yield Watch(slices.kind, slices.keys, slices.scope, {"service": _service_of_slice})


def _other_services(service: AnyService) -> Iterable[Kind]:
    """Kinds that a spec may depend on."""
    for definition in base.definitions():
        if definition.kind.group.endswith(SERVICE_GROUP) and definition.kind != service.kind:
            yield definition.kind


def _pods(scope: AnyScope) -> dict[str, Any]:
    found = scope.observed.get(DEPLOYMENT, scope.named("api"))
    counts = (found or {}).get("status") or {}
    selector = ",".join(f"{k}={v}" for k, v in sorted(scope.selector("api").items()))
    return {
        "replicas": counts.get("replicas", 0),
        "ready_replicas": counts.get("readyReplicas", 0),
        "selector": selector,
    }


def _service_of_slice(obj: Object) -> Iterator[str]:
    name = (obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
    if name:
        yield str(Key(obj["metadata"]["namespace"], name))
