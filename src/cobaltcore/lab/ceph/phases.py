"""The phases of a CephCluster with the conditions, reasons and words of Rook. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rook import CephClusterStatus
from cobaltcore.lab.ceph.daemons import Daemon
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Key, Object

READY = "Ready"
_NAMES = {"mon": "Ceph Mons", "mgr": "Ceph Mgr(s)", "osd": "Ceph OSDs"}
_STATES = {"Ready": "Created", "Failure": "Error", "Deleting": "Deleting"}
# What stays in the list while something else is told.
_LASTING = ("ClusterCreated",)


@dataclass(frozen=True, slots=True)
class Phase:
    """What is told of a cluster."""

    name: str
    reason: str
    message: str
    condition: str = ""
    """The type of the condition, where that is not the phase."""

    def state(self, before: CephClusterStatus) -> str:
        """The older word for the phase."""
        if self.name == "Progressing":
            return "Updating" if _was_created(before) else "Creating"
        return _STATES.get(self.name, before.state or "Creating")

    def conditions(self, before: CephClusterStatus) -> list[Condition]:
        """The phase as a condition, beside what lasts."""
        type_ = self.condition or self.name
        own = Condition(type=type_, status="True", reason=self.reason, message=self.message)
        lasting = [
            each for each in before.conditions if each.reason in _LASTING and each.type != type_
        ]
        return [own, *lasting]


CREATED = Phase(READY, "ClusterCreated", "Cluster created successfully")
DELETING = Phase("Deleting", "ClusterDeleting", "Deleting the CephCluster")


def progressing(daemon: Daemon, waits_for: str) -> Phase:
    """The cluster comes up, and this daemon is what it waits for."""
    message = f"Configuring {_NAMES[daemon.type]}"
    return Phase(
        "Progressing", "ClusterProgressing", f"{message}: {waits_for}" if waits_for else message
    )


def failed(message: str) -> Phase:
    """Somebody has to change something."""
    return Phase("Failure", "ReconcileFailed", message)


def blocked(key: Key, members: Mapping[str, Sequence[str]]) -> Phase:
    """The cluster cannot go because others stand on it."""
    listed = ", ".join(f"{kind}: [{', '.join(names)}]" for kind, names in members.items())
    return Phase(
        "Deleting",
        "ObjectHasDependents",
        f"CephCluster {str(key)!r} will not be deleted until all dependents are removed: {listed}",
        "DeletionIsBlocked",
    )


def is_created(live: Object) -> bool:
    """Whether the cluster as it is asked for now was ready once."""
    before = manifest.status_of(live, CephClusterStatus)
    current = before.observed_generation == live["metadata"]["generation"]
    return current and before.phase == READY and _was_created(before)


def _was_created(before: CephClusterStatus) -> bool:
    return conditions.is_true(before.conditions, READY)
