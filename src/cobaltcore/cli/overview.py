"""One screen about a cluster: control planes, operators, services, hypervisors, what expires. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cobaltcore.api import base, controlplane
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import certmanager, korc
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    NODE,
    POD,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS, CLUSTER
from cobaltcore.deploy import rbac
from cobaltcore.engine import podfailures
from cobaltcore.engine.desired import names, workload
from cobaltcore.engine.diagnosis import nodes
from cobaltcore.engine.diagnosis.facts import event_time
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.text import shortened
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

SOON = timedelta(days=14)
RECENT = timedelta(hours=1)
MOST_WARNINGS = 10
LONGEST = 160
SERVICE_GROUP = ".openstack.c5c3.io"
SETS = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)
Objects = Mapping[Kind, list[Object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """An object: whether it is ready, and what holds it up."""

    kind: str
    namespace: str
    name: str
    ready: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane(State):
    """A control plane; the message names its blocker."""

    phase: str
    progress: str
    release: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(State):
    """The Deployment of operators."""

    ready_pods: int
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(State):
    """An OpenStack service or an OVNCluster."""

    version: str
    ready_pods: int
    pods: int
    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypervisor(State):
    """A node that runs servers, with our pods on it."""

    ready_pods: int
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The servers of a cloud; the message has the reason if their number is unknown."""

    namespace: str
    number: int | None = None
    failed: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(State):
    """An entry of the catalogue."""

    service: str
    interface: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """A certificate or a credential that expires soon, or has."""

    kind: str
    namespace: str
    name: str
    at: str
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A recent warning."""

    namespace: str
    object: str
    reason: str
    message: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The whole screen."""

    control_planes: list[Plane]
    operators: list[Operator]
    services: list[Service]
    hypervisors: list[Hypervisor]
    servers: list[Servers]
    endpoints: list[Endpoint]
    expiries: list[Expiry]
    warnings: list[Warned]

    @property
    def ready(self) -> bool:
        """Whether there is nothing to look at."""
        states: list[State] = [
            *self.control_planes,
            *self.operators,
            *self.services,
            *self.hypervisors,
        ]
        return all(each.ready for each in states)


def service_kinds() -> list[Kind]:
    """Kinds that are shown as services."""
    return [e.kind for e in base.definitions() if e.kind.group.endswith(SERVICE_GROUP)] + [CLUSTER]


def overview(
    found: Objects,
    *,
    now: datetime,
    dates: Mapping[Key, datetime],
    servers: Sequence[Servers] = (),
) -> Overview:
    """Everything; `dates`: until when certificates in Secrets of users are valid."""
    return Overview(
        control_planes=[_plane(each) for each in found.get(controlplane.KIND, ())],
        operators=[_operator(each) for each in _operators(found)],
        services=[_service(k, o, found) for k in service_kinds() for o in found.get(k, ())],
        hypervisors=[_hypervisor(node, found) for node in found.get(NODE, ())],
        servers=list(servers),
        endpoints=sorted(map(_endpoint, found.get(korc.ENDPOINT, ())), key=_by_service),
        expiries=sorted(_expiries(found, now, dates), key=lambda each: each.at),
        warnings=list(_warnings(found.get(EVENT, ()), now)),
    )


def state(obj: Object, *, condition: str = "Ready") -> tuple[bool, str]:
    """Whether an object reports that its newest spec is ready, and why not."""
    if obj["metadata"].get("deletionTimestamp"):
        return False, "is being deleted"
    ready = conditions.find(conditions.of(obj), condition)
    if ready is None:
        return False, "has not reported a status; is its operator running?"
    if ready.observed_generation not in (None, obj["metadata"].get("generation")):
        return False, "its newest spec is not observed; is its operator running?"
    if ready.status == "True":
        return True, ""
    return False, ready.message or ready.reason


def _plane(obj: Object) -> Plane:
    ready, message = state(obj)
    reported = obj.get("status") or {}
    wanted, installed = obj["spec"].get("openStackRelease", ""), reported.get("installedRelease")
    return Plane(
        **_named(obj),
        ready=ready,
        message=message,
        phase=reported.get("phase", ""),
        progress=reported.get("progress", ""),
        release=f"{installed} → {wanted}" if installed not in (None, wanted) else wanted,
    )


def _operators(found: Objects) -> Iterator[Object]:
    for each in found.get(DEPLOYMENT, ()):
        if rbac.LABEL in (each["metadata"].get("labels") or {}):
            yield each


def _operator(obj: Object) -> Operator:
    reached = workload.progress(obj)
    ready = reached.settled and reached.wanted > 0
    message = "" if ready else reached.describe(obj["metadata"]["name"])
    if not reached.wanted:
        message = "scaled to 0 replicas: nothing is reconciled"
    return Operator(
        **_named(obj), ready=ready, message=message, ready_pods=reached.ready, pods=reached.wanted
    )


def _service(kind: Kind, obj: Object, found: Objects) -> Service:
    ready, message = state(obj)
    reported = obj.get("status") or {}
    ready_pods, pods = _pods_of(kind, obj, found)
    return Service(
        **_named(obj),
        ready=ready,
        message=message,
        version=_version(obj),
        ready_pods=ready_pods,
        pods=pods,
        endpoint=reported.get("endpoint")
        or (reported.get("endpoints") or {}).get("northbound", ""),
    )


def _version(obj: Object) -> str:
    """The tag or digest of the image that its programs come from."""
    image = obj["spec"].get("image") or obj["spec"].get("ovnImage") or {}
    return str(image.get("tag") or str(image.get("digest") or "").removeprefix("sha256:")[:12])


def _pods_of(kind: Kind, obj: Object, found: Objects) -> tuple[int, int]:
    """Ready and wanted pods of all its sets."""
    service = "ovn" if kind == CLUSTER else kind.kind.lower()
    wanted = names.selector(service, obj["metadata"]["name"])
    ready = pods = 0
    for of in SETS:
        for each in found.get(of, ()):
            meta = each["metadata"]
            if meta.get("namespace") != obj["metadata"]["namespace"]:
                continue
            if wanted.items() <= (meta.get("labels") or {}).items():
                on_nodes = of == DAEMON_SET
                reached = workload.progress_on_nodes(each) if on_nodes else workload.progress(each)
                ready, pods = ready + reached.ready, pods + reached.wanted
    return ready, pods


def _hypervisor(node: Object, found: Objects) -> Hypervisor:
    name = node["metadata"]["name"]
    here = [pod for pod in found.get(POD, ()) if pod["spec"].get("nodeName") == name]
    own = [pod for pod in here if nodes.is_wanted(pod)]
    unready = [pod for pod in own if not conditions.is_true(conditions.of(pod), "Ready")]
    ready, message = state(node)
    if ready and unready:
        why = podfailures.among(unready).removeprefix("; ")
        message = why or f"{unready[0]['metadata']['name']} is not ready"
    for each in found.get(CHASSIS, ()):
        if ready and not message and each["metadata"]["name"] == name:
            message = "" if (known := state(each))[0] else f"chassis: {known[1]}"
    if ready and node["spec"].get("unschedulable"):
        message = message or "cordoned"
    return Hypervisor(
        **_named(node),
        ready=ready and not message.removeprefix("cordoned"),
        message=message,
        ready_pods=len(own) - len(unready),
        pods=len(own),
    )


def _endpoint(obj: Object) -> Endpoint:
    ready, message = state(obj, condition="Available")
    wanted = obj["spec"].get("resource") or {}
    return Endpoint(
        **_named(obj),
        ready=ready,
        message=message,
        service=wanted.get("serviceRef", ""),
        interface=wanted.get("interface", ""),
        url=wanted.get("url", ""),
    )


def _by_service(each: Endpoint) -> tuple[str, str, str]:
    return each.namespace, each.service, each.interface


def _expiries(found: Objects, now: datetime, dates: Mapping[Key, datetime]) -> Iterator[Expiry]:
    for key, date in dates.items():
        yield from _expiry("Secret", key.namespace, key.name, date, now)
    for each in found.get(certmanager.CERTIFICATE, ()):
        until = (each.get("status") or {}).get("notAfter")
        yield from _expiry_of(each, until, now)
    for each in found.get(ROTATION, ()):
        current = (each.get("status") or {}).get("currentCredential") or {}
        yield from _expiry_of(each, current.get("expiresAt"), now)


def _expiry_of(obj: Object, until: str | None, now: datetime) -> Iterator[Expiry]:
    if until:
        meta = obj["metadata"]
        yield from _expiry(
            obj["kind"], meta["namespace"], meta["name"], parse_timestamp(until), now
        )


def _expiry(
    kind: str, namespace: str, name: str, until: datetime, now: datetime
) -> Iterator[Expiry]:
    if until - now < SOON:
        at, expired = timestamp(until), until <= now
        yield Expiry(kind=kind, namespace=namespace, name=name, at=at, expired=expired)


def _warnings(events: Iterable[Object], now: datetime) -> Iterator[Warned]:
    """The newest of the last hour, one per object and reason."""
    since = timestamp(now - RECENT)
    recent = [e for e in events if e.get("type") == "Warning" and event_time(e) >= since]
    seen: set[tuple[str, str, str]] = set()
    for each in sorted(recent, key=event_time, reverse=True):
        about = each.get("regarding") or {}
        what = f"{about.get('kind', '')}/{about.get('name', '')}"
        known = (about.get("namespace", ""), what, each.get("reason", ""))
        if known not in seen and len(seen) < MOST_WARNINGS:
            seen.add(known)
            message = shortened(" ".join((each.get("note") or "").split()), LONGEST)
            namespace, what, reason = known
            yield Warned(
                namespace=namespace,
                object=what,
                reason=reason,
                message=message,
                at=event_time(each),
            )


def _named(obj: Object) -> dict[str, str]:
    meta = obj["metadata"]
    return {"kind": obj["kind"], "namespace": meta.get("namespace", ""), "name": meta["name"]}
