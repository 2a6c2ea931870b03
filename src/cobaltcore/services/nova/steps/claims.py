"""A hypervisor belongs to one Nova: two would share its libvirt, and each the servers of the other.

Pure. A claim is written nowhere: of all Novas whose selectors match a node the oldest has it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from cobaltcore.api import nova
from cobaltcore.api.nova import NovaSpec
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Key, Object, key_of


def conflict(scope: ServiceScope[NovaSpec], nodes: Iterable[Object]) -> str:
    """Which of these nodes belongs to another Nova, and what to do; empty if none does."""
    others = sorted(
        (
            each
            for each in scope.observed.find(nova.KIND, "every", "")
            if key_of(each) != scope.key
        ),
        key=_age,
    )
    older = [each for each in others if _age(each) < _age(scope.live)]
    for node in nodes:
        owner = next((key_of(each) for each in older if _has(each, node)), None)
        if owner is not None:
            return _message(node["metadata"]["name"], owner)
    return ""


def selector(spec: NovaSpec) -> Mapping[str, str]:
    """Labels of the nodes that servers may run on."""
    return spec.compute.node_selector or names.HYPERVISORS


def _has(other: Object, node: Object) -> bool:
    try:
        spec = msgspec.convert(other, nova.Nova).spec
    except msgspec.ValidationError:
        # Its own status reports that it is not understood; it runs nothing.
        return False
    return selector(spec).items() <= (node["metadata"].get("labels") or {}).items()


def _age(found: Object) -> tuple[str, str, str]:
    meta = found["metadata"]
    return meta["creationTimestamp"], meta["namespace"], meta["name"]


def _message(node: str, owner: Key) -> str:
    return (
        f"node {node!r} belongs to Nova {str(owner)!r} already, and two cannot share its libvirt; "
        "select other nodes in compute.nodeSelector (in a ControlPlane "
        "services.nova.compute.nodeSelector) of one of them"
    )
