"""What a cluster needs before operators can work, and what is broken in it: each with its fix. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from cobaltcore.api import base, controlplane
from cobaltcore.api.foreign import certmanager, korc, mariadb, rabbitmq
from cobaltcore.api.foreign.kubernetes import (
    MUTATING_WEBHOOK_CONFIGURATION,
    NODE,
    SERVICE,
    STORAGE_CLASS,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine.desired import names
from cobaltcore.engine.diagnosis import walk
from cobaltcore.engine.diagnosis.facts import Facts, Named, named
from cobaltcore.engine.diagnosis.pods import DNS
from cobaltcore.engine.diagnosis.walk import Broken
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.timestamps import timestamp

THIRD_PARTIES = {
    mariadb.MARIADB: "mariadb-operator",
    rabbitmq.CLUSTER: "the RabbitMQ cluster operator",
    rabbitmq.VHOST: "the RabbitMQ topology operator",
    korc.USER: "K-ORC",
    certmanager.CERTIFICATE: "cert-manager",
}
"""Operators without which no ControlPlane becomes ready, by a kind that they serve."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
WEBHOOKS = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One requirement: whether it is met, and the fix if not."""

    name: str
    ok: bool
    message: str
    fix: str = ""


def checks(facts: Facts) -> list[Check]:
    """All checks of a cluster, from what everything needs to single objects."""
    return [
        *_kinds(facts),
        *_operators(facts),
        *_nodes(facts),
        _dns(facts),
        _storage(facts),
        *_webhooks(facts),
        *_certificates(facts),
        *_hypervisors(facts),
        *_planes(facts),
    ]


def webhook_namespaces(configurations: list[Object]) -> set[str]:
    """Namespaces of the Services behind webhooks."""
    found = (_service(each) for obj in configurations for each in obj.get("webhooks") or ())
    return {each.key.namespace for each in found if each is not None}


def _kinds(facts: Facts) -> Iterator[Check]:
    ours = [each.kind for each in base.definitions()]
    absent = [kind for kind in ours if kind in facts.unserved]
    yield Check(
        name="CRDs",
        ok=not absent,
        message=f"{len(ours) - len(absent)}/{len(ours)} kinds served" + _listed(absent),
        fix="cobalt crds | kubectl apply --server-side -f -",
    )
    for kind, program in THIRD_PARTIES.items():
        text = f"{kind.kind} ({kind.group})"
        missing = kind in facts.unserved
        yield Check(
            name=f"third party {kind.group}",
            ok=not missing,
            message=f"{text} is {'not ' if missing else ''}served",
            fix=f"install {program}; in a lab: cobalt up",
        )


def _operators(facts: Facts) -> Iterator[Check]:
    if not facts.platform:
        yield Check(
            name="operators",
            ok=False,
            message="no Deployment of operators exists; they may run outside of the cluster",
            fix="cobalt manifests | kubectl apply --server-side -f -",
        )
    for each in facts.platform:
        yield _of(f"operators {each.key.name}", walk.first_broken(facts, each), str(each))


def _nodes(facts: Facts) -> Iterator[Check]:
    for each in facts.of(NODE):
        node = named(NODE, each)
        yield _of(f"node {node.key.name}", walk.first_broken(facts, node), str(node))


def _dns(facts: Facts) -> Check:
    service = Named(SERVICE, DNS)
    return _of("DNS", walk.first_broken(facts, service), "Service 'kube-dns'")


def _storage(facts: Facts) -> Check:
    classes = facts.of(STORAGE_CLASS)
    chosen = [
        each["metadata"]["name"]
        for each in classes
        if (each["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    ]
    known = ", ".join(each["metadata"]["name"] for each in classes) or "none"
    text = (
        f"StorageClass {chosen[0]!r} is the default" if chosen else f"no default one of: {known}"
    )
    command = f"kubectl annotate storageclass NAME {DEFAULT_CLASS}=true"
    return Check(name="storage", ok=bool(chosen), message=text, fix=command)


def _webhooks(facts: Facts) -> Iterator[Check]:
    """Each Service behind a webhook: without it requests fail."""
    seen: set[Named] = set()
    for kind in WEBHOOKS:
        for obj in facts.of(kind):
            for each in obj.get("webhooks") or ():
                service = _service(each)
                if service is not None and service not in seen:
                    seen.add(service)
                    broken = walk.first_broken(facts, service)
                    yield _of(f"webhook {obj['metadata']['name']}", broken, str(service))


def _certificates(facts: Facts) -> Iterator[Check]:
    for key, until in facts.expiries.items():
        if until <= facts.now:
            yield Check(
                name=f"certificate {key.name}",
                ok=False,
                message=f"the certificate in Secret {str(key)!r} expired at {timestamp(until)}",
                fix=f"renew it: kubectl -n {key.namespace} describe secret {key.name}",
            )


def _hypervisors(facts: Facts) -> Iterator[Check]:
    found = [
        named(NODE, each)
        for each in facts.of(NODE)
        if names.HYPERVISORS.items() <= (each["metadata"].get("labels") or {}).items()
    ]
    if not found:
        label = next(iter(names.HYPERVISORS))
        yield Check(
            name="hypervisors",
            ok=False,
            message=f"no Node has the label {label}: servers cannot be scheduled",
            fix=f"kubectl label node NAME {label}=",
        )
    for each in found:
        broken = walk.broken_hypervisor(facts, each)
        yield _of(f"hypervisor {each.key.name}", broken, f"hypervisor {each.key.name!r}")


def _planes(facts: Facts) -> Iterator[Check]:
    for each in facts.of(controlplane.KIND):
        plane = named(controlplane.KIND, each)
        yield _of(f"control plane {plane.key}", walk.first_broken(facts, plane), str(plane))


def _of(name: str, broken: Broken | None, what: str) -> Check:
    if broken is None:
        return Check(name=name, ok=True, message=f"{what} is ready")
    return Check(name=name, ok=False, message=broken.cause.message, fix=broken.cause.command)


def _service(webhook: Object) -> Named | None:
    service = (webhook.get("clientConfig") or {}).get("service")
    return Named(SERVICE, Key(service["namespace"], service["name"])) if service else None


def _listed(absent: list[Kind]) -> str:
    return f"; missing: {', '.join(each.kind for each in absent)}" if absent else ""
