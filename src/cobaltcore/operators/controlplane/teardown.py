"""Deletion of a control plane: nothing is deleted before what needs it, within a time limit. Pure.

What exists is found by owner references and labels: a spec may be stored that no release can plan.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from cobaltcore.api.controlplane import ControlPlaneStatus
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.api.keystone import KIND as KEYSTONE
from cobaltcore.engine import graph, orphans
from cobaltcore.engine.desired import names
from cobaltcore.engine.graph import Node
from cobaltcore.engine.plan import Action, Event, Plan, Release, Removal
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.operators.controlplane import children, identity
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import OPERATOR, View
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, key_of, ownership
from cobaltcore.runtime.timestamps import parse_timestamp

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster

FINALIZER = "c5c3.io/teardown"
Removable = tuple[Kind, Key]
FIRST = frozenset({ROTATION})
"""Kinds that are deleted before the rest of their part: an application credential is removed by
the user that it is for, who must still exist and have its roles."""
LIMIT = timedelta(minutes=5)
"""After this long what is left is abandoned, and named."""


def plan(view: View) -> Plan[ControlPlaneStatus]:
    """Delete what may be deleted now; the finalizer is removed with the last of it."""
    left = _all(view).removals
    if not left:
        return Plan(verdict=Ready("Deleted"), events=_kept(view), done=True)
    since = view.now - parse_timestamp(view.live["metadata"]["deletionTimestamp"])
    if since >= LIMIT:
        return _abandon(left)
    verdict = Waiting("Deleting", f"{len(left)} objects are being deleted")
    return Plan(verdict=verdict, removals=left, releases=_orphans(view), after=LIMIT - since)


class Deletable(NamedTuple):
    """What may be deleted now, and all that exists of the parts."""

    removals: Sequence[Removal]
    present: Collection[tuple[Kind, Key]]


def disabled(view: View) -> Deletable:
    """Parts that are switched off: in the same order as when all are deleted.

    Pruning them at once would delete roles before the credential that needs them to be revoked.
    """

    def present(node: Node[View]) -> Iterable[Removable]:
        wanted = (each for each in node.objects(view) if not each.kept and _is_owned(view, each))
        return ((each.kind, each.key) for each in wanted)

    return deletable([node for node in PARTS if not node.enabled_if(view)], present)


def _all(view: View) -> Deletable:
    """What is there of all parts. Objects without an order are garbage collected in the end."""
    by_part: dict[str, list[Removable]] = defaultdict(list)
    for kind, obj in children.owned(view):
        by_part[children.part_of(kind, obj["metadata"]["name"])].append((kind, key_of(obj)))
    return deletable(PARTS, lambda node: by_part[node.name])


def deletable(
    parts: Sequence[Node[View]], present_of: Callable[[Node[View]], Iterable[Removable]]
) -> Deletable:
    """From what nothing needs to what all need; stops at the first part that still exists."""
    found: list[Removal] = []
    left: set[tuple[Kind, Key]] = set()
    waits: set[str] = set()
    for node in graph.teardown(parts):
        present = list(present_of(node))
        left.update(present)
        if node.name in waits:
            waits |= set(node.needs)
            continue
        first = [each for each in present if each[0] in FIRST]
        found += [Removal(kind, key, "Foreground") for kind, key in first or present]
        if present:
            waits |= set(node.needs)
    # Nova and Neutron share a Secret.
    return Deletable(list(dict.fromkeys(found)), left)


def _is_owned(view: View, desired: Desired) -> bool:
    found = view.observed.get(desired.kind, desired.key)
    references = ((found or {}).get("metadata") or {}).get("ownerReferences") or ()
    return any(each["uid"] == view.live["metadata"]["uid"] for each in references)


def _orphans(view: View) -> list[Release]:
    """K-ORC cannot finish deletions without Keystone, which goes early if the namespace is deleted."""
    keystone = view.observed.find(KEYSTONE, "owner", ownership(view.live))
    if any(each["metadata"]["name"] == identity.KEYSTONE for each in keystone):
        return []
    mine: dict[Kind, list[Object]] = defaultdict(list)
    for kind, obj in children.owned(view):
        if kind.group == korc.USER.group:
            mine[kind].append(obj)
    return [found for kind, objects in mine.items() for found in orphans.releases(kind, objects)]


def _kept(view: View) -> Sequence[Event]:
    kept = sorted(
        f"{child.kind.kind} {each['metadata']['name']}"
        for child in children.CHILDREN
        for each in view.observed.list(child.kind, view.namespace)
        if _is_kept(view, each)
    )
    return [Event("Normal", "DataKept", f"kept: {', '.join(kept)}")] if kept else []


def _is_kept(view: View, obj: Object) -> bool:
    """Whether an object is of this control plane and outlives it."""
    labels = obj["metadata"].get("labels") or {}
    mine = {names.NAME: OPERATOR, names.INSTANCE: view.name}
    return mine.items() <= labels.items() and not obj["metadata"].get("ownerReferences")


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
