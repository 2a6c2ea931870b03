"""Deletion of a control plane: nothing is deleted before what needs it, within a time limit. Pure."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from cobaltcore.api.controlplane import ControlPlaneStatus
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.engine import graph
from cobaltcore.engine.graph import Node
from cobaltcore.engine.plan import Action, Event, Plan, Removal
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired, Key, Kind
from cobaltcore.runtime.timestamps import parse_timestamp

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster

FINALIZER = "c5c3.io/teardown"
FIRST = frozenset({ROTATION})
"""Kinds that are deleted before the rest of their part: an application credential is removed by
the user that it is for, who must still exist and have its roles."""
LIMIT = timedelta(minutes=5)
"""After this long what is left is abandoned, and named."""


def plan(view: View) -> Plan[ControlPlaneStatus]:
    """Delete what may be deleted now; the finalizer is removed with the last of it."""
    left = deletable(view, PARTS).removals
    if not left:
        return Plan(verdict=Ready("Deleted"), events=_kept(view), done=True)
    since = view.now - parse_timestamp(view.live["metadata"]["deletionTimestamp"])
    if since >= LIMIT:
        return _abandon(left)
    verdict = Waiting("Deleting", f"{len(left)} objects are being deleted")
    return Plan(verdict=verdict, removals=left, after=LIMIT - since)


class Deletable(NamedTuple):
    """What may be deleted now, and all that exists of the parts."""

    removals: Sequence[Removal]
    present: Collection[tuple[Kind, Key]]


def disabled(view: View) -> Deletable:
    """Parts that are switched off: in the same order as when all are deleted.

    Pruning them at once would delete roles before the credential that needs them to be revoked.
    """
    return deletable(view, [node for node in PARTS if not node.enabled_if(view)])


def deletable(view: View, parts: Sequence[Node[View]]) -> Deletable:
    """From what nothing needs to what all need; stops at the first part that still exists."""
    found: list[Removal] = []
    left: set[tuple[Kind, Key]] = set()
    waits: set[str] = set()
    for node in graph.teardown(parts):
        present = [each for each in node.objects(view) if not each.kept and _is_owned(view, each)]
        left.update((each.kind, each.key) for each in present)
        if node.name in waits:
            waits |= set(node.needs)
            continue
        first = [each for each in present if each.kind in FIRST]
        found += [Removal(each.kind, each.key, "Foreground") for each in first or present]
        if present:
            waits |= set(node.needs)
    # Nova and Neutron share a Secret.
    return Deletable(list(dict.fromkeys(found)), left)


def _is_owned(view: View, desired: Desired) -> bool:
    found = view.observed.get(desired.kind, desired.key)
    references = ((found or {}).get("metadata") or {}).get("ownerReferences") or ()
    return any(each["uid"] == view.live["metadata"]["uid"] for each in references)


def _kept(view: View) -> Sequence[Event]:
    desired = [each for node in PARTS if node.enabled_if(view) for each in node.objects(view)]
    kept = sorted(
        f"{each.kind.kind} {each.key.name}"
        for each in desired
        if each.kept and view.observed.get(each.kind, each.key) is not None
    )
    return [Event("Normal", "DataKept", f"kept: {', '.join(kept)}")] if kept else []


def _abandon(left: Sequence[Removal]) -> Plan[ControlPlaneStatus]:
    """Report what stays, and detach what only Keystone could confirm."""
    named = ", ".join(f"{each.kind.kind} {each.key.name}" for each in left)
    minutes = int(LIMIT.total_seconds() // 60)
    text = f"not deleted after {minutes} minutes, left behind: {named}"
    return Plan(
        verdict=Ready("Abandoned"),
        events=[Event("Warning", "TeardownIncomplete", text)],
        actions=[_detachment(each) for each in left if each.kind.group == korc.USER.group],
        done=True,
    )


def _detachment(removal: Removal) -> Action:
    patch = {"spec": {"managedOptions": {"onDelete": "detach"}}}

    async def run(cluster: "Cluster") -> None:
        await cluster.client.patch(removal.kind, removal.key, patch)

    return Action(f"detach {removal.kind.kind} {removal.key.name!r} from Keystone", run)
