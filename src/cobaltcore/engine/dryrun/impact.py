"""What changes mean for pods and APIs: restarts in their order, Jobs, interruptions. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cobaltcore.api.foreign import mariadb, rabbitmq, valkey
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, JOB, SERVICE, STATEFUL_SET
from cobaltcore.engine.desired import names
from cobaltcore.engine.dryrun.changes import Change
from cobaltcore.runtime.meta import Key, Kind, Object

SETS = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)
SERVERS = (mariadb.MARIADB, rabbitmq.CLUSTER, valkey.VALKEY)
NODE_PROGRAMS = {
    "openvswitch": "packets of its servers are not forwarded while Open vSwitch restarts",
    "controller": "flows stay as they are while ovn-controller restarts",
    "compute": "its servers keep running; requests that concern them wait",
    "libvirt": "its servers keep running; requests that concern them wait",
}
"""What a restart on a node means, by component."""
MIGRATION = "db-sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A set of pods whose template changes."""

    kind: Kind
    key: Key
    pods: int
    impact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A Job that would run."""

    key: Key
    is_migration: bool


def restarts(found: Iterable[Change]) -> list[Restart]:
    """Sets of pods that restart, in order."""
    return [
        Restart(kind=each.kind, key=each.key, pods=_pods(each.after), impact=_of_restart(each))
        for each in found
        if each.kind in SETS and _restarts(each)
    ]


def runs(found: Iterable[Change]) -> list[Run]:
    """Jobs that run, in order."""
    return [
        Run(key=each.key, is_migration=MIGRATION in each.key.name)
        for each in found
        if each.kind == JOB and each.verb == "create"
    ]


def interruptions(found: Iterable[Change]) -> Iterator[str]:
    """Interruptions that users of the cloud see."""
    for each in found:
        name = each.key.name
        if each.kind == SERVICE and each.verb == "delete":
            yield f"the API at Service {name!r} is removed"
        elif each.kind in SETS and each.verb != "create" and not _pods(each.after):
            if each.kind != DAEMON_SET:
                yield f"{each.kind.kind} {name!r} stops: all of its pods end"
        elif each.kind == STATEFUL_SET and _restarts(each) and _pods(each.after) == 1:
            yield f"the only pod of StatefulSet {name!r} restarts: what uses it fails meanwhile"
        elif each.kind in SERVERS and each.verb == "change":
            yield f"the operator of {each.kind.kind} {name!r} applies its new spec, and may restart it"
        elif each.kind in SERVERS and each.verb == "delete":
            yield f"{each.kind.kind} {name!r} is deleted"


def _restarts(each: Change) -> bool:
    if each.before is None or each.after is None:
        return False
    old, new = (obj["spec"].get("template") for obj in (each.before, each.after))
    return bool(old != new)


def _pods(obj: Object | None) -> int:
    if obj is None:
        return 0
    if "replicas" in obj["spec"]:
        number: int = obj["spec"]["replicas"]
        return number
    nodes: int = (obj.get("status") or {}).get("desiredNumberScheduled", 0)
    return nodes


def _of_restart(each: Change) -> str:
    labels = ((each.after or {}).get("metadata") or {}).get("labels") or {}
    component = labels.get(names.COMPONENT, "")
    if each.kind == DAEMON_SET:
        what = NODE_PROGRAMS.get(component)
        return f"node by node; {what}" if what else "node by node"
    if each.kind == STATEFUL_SET:
        if _pods(each.after) == 1:
            return "unavailable while its only pod restarts"
        return "one pod after the other"
    return "each new pod is ready before an old one ends"
