"""OVNChassis objects of an OVNCluster: one per hypervisor Node, reported, drained. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.plan import Action, Release, Removal, Report
from cobaltcore.operators.ovn import chassis, southbound
from cobaltcore.operators.ovn.hypervisors import CONTROLLER
from cobaltcore.operators.ovn.ovsdb import Address
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.meta import Desired, Key, Object, key_of

FINALIZER = "ovn.c5c3.io/chassis"


def desired(view: View) -> Iterator[Desired]:
    """An object for every hypervisor; it belongs to its Node."""
    for each in chassis.objects(view):
        meta = {**each.object.body["metadata"], "finalizers": [FINALIZER]}
        node = {**each.node, "apiVersion": NODE.api_version, "kind": NODE.kind}
        yield Desired(CHASSIS, {**each.object.body, "metadata": meta}, owner=node)


def removals(view: View) -> Iterator[Removal]:
    """Objects of nodes that are no hypervisors any more."""
    names = {node["metadata"]["name"] for node in view.nodes}
    for name, live in view.chassis.items():
        if name not in names and chassis.is_ours(live, view.name):
            yield Removal(CHASSIS, key_of(live))


def reports(view: View) -> Iterator[Report]:
    """The status of each hypervisor by the southbound database."""
    for live in view.chassis.values():
        if not _is_deleting(live):
            yield Report(CHASSIS, live, chassis.status(view, live))


def drained(view: View, address: Address | None) -> tuple[list[Action], list[Release]]:
    """Rows to delete from the southbound database, and objects to release after that.

    Objects stay while their ovn-controller runs: it would register the chassis again. Without a
    database there is nothing to delete.
    """
    actions: list[Action] = []
    releases: list[Release] = []
    for live in view.chassis.values():
        if not _is_deleting(live) or not finalizers.present(live, FINALIZER):
            continue
        if _may_register(view, live["spec"]["hostname"]):
            continue
        if address is not None:
            actions.append(_deletion(address, live["spec"]["systemId"]))
        releases.append(Release(CHASSIS, live, FINALIZER))
    return actions, releases


def of_cluster(view: View) -> list[Object]:
    """Objects that this OVNCluster has created."""
    return [live for live in view.chassis.values() if chassis.is_ours(live, view.name)]


def _deletion(address: Address, system_id: str) -> Action:
    return Action(
        f"delete chassis {system_id!r} from the southbound database",
        lambda _: southbound.remove(address, system_id),
    )


def _may_register(view: View, hostname: str) -> bool:
    """Whether an ovn-controller runs there; pods of a deleted Node do not count."""
    exists = view.get(NODE, Key("", hostname)) is not None
    return exists and bool(view.pods_on(hostname, CONTROLLER))


def _is_deleting(live: Object) -> bool:
    return bool(live["metadata"].get("deletionTimestamp"))
