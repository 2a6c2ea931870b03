"""What wakes a service: itself, its children, and everything that its spec names."""

from collections.abc import Callable, Iterable, Iterator
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
    POD,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine import references, trouble
from cobaltcore.engine.definition import Service
from cobaltcore.engine.desired import names
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Source, owner, unless_told
from cobaltcore.runtime.meta import Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

OURS = Scope(selector=f"app.kubernetes.io/part-of={names.PART_OF}")
OPTIONAL = Scope(optional=True)
CONTENT = Scope(metadata_only=True)

CHILDREN: tuple[tuple[Kind, Scope], ...] = (
    (DEPLOYMENT, OURS),
    (DAEMON_SET, OURS),
    (PERSISTENT_VOLUME_CLAIM, OURS),
    (SERVICE, OURS),
    (POD_DISRUPTION_BUDGET, OURS),
    (JOB, OURS),
    (CONFIG_MAP, CONTENT),
    (SECRET, CONTENT),
    (mariadb.DATABASE, OPTIONAL),
    (mariadb.USER, OPTIONAL),
    (mariadb.GRANT, OPTIONAL),
    (rabbitmq.VHOST, OPTIONAL),
    (rabbitmq.USER, OPTIONAL),
    (rabbitmq.PERMISSION, OPTIONAL),
    (certmanager.CERTIFICATE, OPTIONAL),
)
"""Kinds that services make, and what part of them is cached."""

BACKING: tuple[tuple[Kind, Scope], ...] = (
    (mariadb.MARIADB, OPTIONAL),
    (STATEFUL_SET, Scope()),
)
"""Kinds that services find their databases and caches by."""


def sources(cluster: Cluster, service: Service) -> list[Source]:
    """All sources of a service's controller; sets up the indexes that they use."""
    for kind, scope in (*CHILDREN, *BACKING):
        cluster.informer(kind, scope)
    own = cluster.informer(service.kind)
    own.add_index("names", _names(service))
    for kind in service.follows:
        cluster.informer(kind).add_index("every", lambda obj: ("",))
    cluster.informer(ENDPOINT_SLICE, OURS).add_index("service", _service_of_slice)
    index_pods_of_jobs(cluster)
    trouble.index(cluster, OURS)
    named = referrers_of(cluster, service.kind)
    return [
        Source(service.kind, unless_told),
        *(
            Source(kind, _each(owner(service.kind), named(kind), made_by(service.name)), scope)
            for kind, scope in CHILDREN
        ),
        *(Source(kind, named(kind), scope) for kind, scope in BACKING),
        *(Source(kind, named(kind), scope) for kind, scope in service.watches.items()),
        *(Source(kind, _everyone(cluster, service)) for kind in service.follows),
        *(Source(d.kind, named(d.kind)) for d in base.definitions() if _is_service(d, service)),
        Source(POD, made_by(service.name), OURS),
        Source(ENDPOINT_SLICE, made_by(service.name), OURS),
    ]


def index_pods_of_jobs(cluster: Cluster) -> None:
    """Make pods findable by the Job that made them."""
    cluster.informer(POD, OURS).add_index("job", _job_of_pod)


def referrers_of(
    cluster: Cluster, kind: Kind
) -> Callable[[Kind], Callable[[Change], Iterable[Key]]]:
    """For a kind: which objects of ours name the changed one."""

    def of(other: Kind) -> Callable[[Change], Iterable[Key]]:
        def keys(change: Change) -> Iterator[Key]:
            for obj in cluster.informer(kind).find("names", reference(other, change.key)):
                yield Key(obj["metadata"]["namespace"], obj["metadata"]["name"])

        return keys

    return of


def reference(kind: Kind, key: Key) -> str:
    """An object as the index knows it."""
    return f"{kind.kind}/{key}"


def _names(service: Service) -> Callable[[Object], Iterator[str]]:
    def found(obj: Object) -> Iterator[str]:
        key = key_of(obj)
        namespace = key.namespace
        spec = msgspec.convert(obj, service.resource).spec
        for kind, other in concerned(service, key, spec):
            yield reference(kind, other)
        for each in references.depended_on(spec):
            yield f"{each.kind}/{Key(namespace, each.name)}"
        for kind, block in ((mariadb.MARIADB, "database"), (STATEFUL_SET, "cache")):
            cluster = getattr(getattr(spec, block, None), "cluster_ref", None)
            if cluster is not None:
                yield reference(kind, Key(namespace, cluster.name))

    return found


def concerned(service: Service, key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
    """Objects of others that a spec names; Secrets and ConfigMaps are read with their content."""
    yield from references.named(key.namespace, spec)
    yield from service.references(key, spec)


def _everyone(cluster: Cluster, service: Service) -> Callable[[Change], list[Key]]:
    return lambda change: [key_of(each) for each in cluster.informer(service.kind).objects()]


def _is_service(definition: base.Definition, service: Service) -> bool:
    return definition.kind.group.endswith(".openstack.c5c3.io") and definition.kind != service.kind


def _each(*functions: Callable[[Change], Iterable[Key]]) -> Callable[[Change], Iterator[Key]]:
    def keys(change: Change) -> Iterator[Key]:
        for function in functions:
            yield from function(change)

    return keys


def made_by(service: str) -> Callable[[Change], Iterator[Key]]:
    """Objects that an operator made, also those that it does not own because they outlive it."""

    def keys(change: Change) -> Iterator[Key]:
        labels = change.latest["metadata"].get("labels") or {}
        if labels.get("app.kubernetes.io/name") == service:
            yield Key(change.key.namespace, labels.get("app.kubernetes.io/instance", ""))

    return keys


def _service_of_slice(obj: Object) -> Iterator[str]:
    name = (obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name")
    if name:
        yield str(Key(obj["metadata"]["namespace"], name))


def _job_of_pod(obj: Object) -> Iterator[str]:
    name = (obj["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-name")
    if name:
        yield str(Key(obj["metadata"]["namespace"], name))
