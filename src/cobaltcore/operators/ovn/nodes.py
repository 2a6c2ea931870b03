"""Which nodes are hypervisors, and of which OVNCluster. Pure."""

from collections.abc import Iterable, Mapping

from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Object, key_of


def hypervisors(nodes: Iterable[Object], selector: Mapping[str, str] | None) -> list[Object]:
    """Nodes that carry all labels of a selector, by name."""
    wanted = selector or names.HYPERVISORS
    found = [
        node
        for node in nodes
        if wanted.items() <= (node["metadata"].get("labels") or {}).items()
        and not node["metadata"].get("deletionTimestamp")
    ]
    return sorted(found, key=lambda node: str(node["metadata"]["name"]))


def taken(nodes: Iterable[Object], cluster: Object, others: Iterable[Object]) -> dict[str, str]:
    """Nodes that an older OVNCluster has: two ovs-vswitchd on one node would fight."""
    found: dict[str, str] = {}
    for other in others:
        if _age(other) >= _age(cluster):
            continue
        selector = (other["spec"].get("ovs") or {}).get("nodeSelector")
        found |= {
            node["metadata"]["name"]: str(key_of(other)) for node in hypervisors(nodes, selector)
        }
    return found


def _age(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"]
