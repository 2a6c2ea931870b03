"""The phases of a CephCluster with the conditions, reasons and messages of Rook. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rook import CephClusterStatus
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Key, Object
from cobaltlab.ceph.daemons import Daemon
from cobaltlab.providers.failures import RECONCILE_FAILED

READY = "Ready"
_NAMES = {"mon": "Ceph Mons", "mgr": "Ceph Mgr(s)", "osd": "Ceph OSDs"}
_STATES = {"Ready": "Created", "Failure": "Error", "Deleting": "Deleting"}
# Reasons of conditions that are kept in other phases.
_LASTING = ("ClusterCreated",)


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase and its condition."""

    name: str
    reason: str
    message: str
    condition: str = ""
    """The type of the condition, where that is not the phase."""

    def state(self, before: CephClusterStatus) -> str:
        """`status.state`, the predecessor of `status.phase`."""
        if self.name == "Progressing":
            return "Updating" if _was_created(before) else "Creating"
        return _STATES.get(self.name, before.state or "Creating")

    def conditions(self, before: CephClusterStatus) -> list[Condition]:
        """The condition of the phase and the lasting ones."""
        type_ = self.condition or self.name
        own = Condition(type=type_, status="True", reason=self.reason, message=self.message)
        lasting = [
            each for each in before.conditions if each.reason in _LASTING and each.type != type_
        ]
        return [own, *lasting]


CREATED = Phase(READY, "ClusterCreated", "Cluster created successfully")
DELETING = Phase("Deleting", "ClusterDeleting", "Deleting the CephCluster")


def progressing(daemon: Daemon, blockers: str) -> Phase:
    """The cluster is starting and waits for this daemon."""
    message = f"Configuring {_NAMES[daemon.type]}"
    return Phase(
        "Progressing", "ClusterProgressing", f"{message}: {blockers}" if blockers else message
    )


def failed(message: str) -> Phase:
    return Phase("Failure", RECONCILE_FAILED, message)


def blocked(key: Key, dependents: Mapping[str, Sequence[str]]) -> Phase:
    """The deletion waits for dependents."""
    listed = ", ".join(f"{kind}: [{', '.join(names)}]" for kind, names in dependents.items())
    return Phase(
        "Deleting",
        "ObjectHasDependents",
        f"CephCluster {str(key)!r} will not be deleted until all dependents are removed: {listed}",
        "DeletionIsBlocked",
    )


def is_created(live: Object) -> bool:
    """Whether the cluster has been ready with the current spec."""
    before = manifest.status_of(live, CephClusterStatus)
    current = before.observed_generation == live["metadata"]["generation"]
    return current and before.phase == READY and _was_created(before)


def _was_created(before: CephClusterStatus) -> bool:
    return conditions.is_true(before.conditions, READY)
