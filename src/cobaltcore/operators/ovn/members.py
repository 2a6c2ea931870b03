"""OVNChassis objects: one for each hypervisor Node, reported, and drained when the Node goes."""

from collections.abc import Iterable, Mapping

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.desired.hostpods import HYPERVISOR
from cobaltcore.operators.ovn import chassis, southbound
from cobaltcore.operators.ovn.hypervisors import CONTROLLER
from cobaltcore.operators.ovn.ovsdb import Address
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime import finalizers, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Desired, Key, Object, key_of

MANAGER = "ovn-operator"
FINALIZER = "ovn.c5c3.io/chassis"


def hypervisors(nodes: Iterable[Object], selector: Mapping[str, str] | None) -> list[Object]:
    """Nodes that carry all labels of a selector, by name."""
    wanted = selector or {HYPERVISOR: ""}
    found = [
        node
        for node in nodes
        if wanted.items() <= (node["metadata"].get("labels") or {}).items()
        and not node["metadata"].get("deletionTimestamp")
    ]
    return sorted(found, key=lambda node: str(node["metadata"]["name"]))


def taken(nodes: Iterable[Object], cluster: Object, others: Iterable[Object]) -> dict[str, str]:
    """Nodes that an older OVNCluster has: two switches on one node would fight."""
    found: dict[str, str] = {}
    for other in others:
        if _age(other) >= _age(cluster):
            continue
        selector = (other["spec"].get("ovs") or {}).get("nodeSelector")
        found |= {
            node["metadata"]["name"]: str(key_of(other)) for node in hypervisors(nodes, selector)
        }
    return found


class Members:
    """The hypervisors of OVNClusters."""

    def __init__(self, cluster: Cluster, applier: Applier) -> None:
        self._cluster = cluster
        self._applier = applier

    def known(self, namespace: str) -> dict[str, Object]:
        """All OVNChassis of a namespace, by name."""
        found = self._cluster.informer(CHASSIS).objects(namespace)
        return {each["metadata"]["name"]: each for each in found}

    async def keep(self, view: View) -> None:
        """Have an object for every hypervisor, and none for nodes that are none any more."""
        for wanted in chassis.objects(view):
            meta = {**wanted.object.body["metadata"], "finalizers": [FINALIZER]}
            desired = Desired(CHASSIS, {**wanted.object.body, "metadata": meta})
            node = {**wanted.node, "apiVersion": NODE.api_version, "kind": NODE.kind}
            await self._applier.apply([desired], owner=node)
        names = {node["metadata"]["name"] for node in view.nodes}
        for name, live in view.chassis.items():
            if name not in names and chassis.is_ours(live, view.name):
                await self._delete(live)

    async def drain(self, view: View, southbound_at: Address | None) -> None:
        """Take hypervisors that have gone out of the database, then let their objects go.

        Until the database answers they stay; without one there is nothing to take them out of. They
        also stay while their ovn-controller runs: it would put the hypervisor in again.
        """
        for live in view.chassis.values():
            meta = live["metadata"]
            if not meta.get("deletionTimestamp") or not finalizers.present(live, FINALIZER):
                continue
            if self._may_register(view, live["spec"]["hostname"]):
                continue
            if southbound_at is not None:
                await southbound.remove(southbound_at, live["spec"]["systemId"])
            await finalizers.remove(self._cluster, CHASSIS, live, FINALIZER)

    async def report(self, view: View) -> None:
        """Tell what the database says about each hypervisor."""
        for live in view.chassis.values():
            if not live["metadata"].get("deletionTimestamp"):
                told = chassis.status(view, live)
                await status.write(self._cluster, CHASSIS, live, told, manager=MANAGER)

    async def release(self, key: Key) -> bool:
        """Let all objects of an OVNCluster go; tell whether they are gone."""
        left = False
        for live in self.known(key.namespace).values():
            if chassis.is_ours(live, key.name):
                left = True
                if live["metadata"].get("deletionTimestamp"):
                    await finalizers.remove(self._cluster, CHASSIS, live, FINALIZER)
                else:
                    await self._delete(live)
        return not left

    def _may_register(self, view: View, hostname: str) -> bool:
        """Whether an ovn-controller runs there; pods of a Node that is gone are leftovers."""
        exists = self._cluster.informer(NODE).get(Key("", hostname)) is not None
        return exists and bool(view.pods_on(hostname, CONTROLLER))

    async def _delete(self, live: Object) -> None:
        if not live["metadata"].get("deletionTimestamp"):
            await self._cluster.client.delete(CHASSIS, key_of(live), uid=live["metadata"]["uid"])


def _age(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"]
