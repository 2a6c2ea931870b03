"""One ControlPlane per namespace: its parts have fixed names, which two cannot share. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from cobaltcore.api.controlplane import KIND, ControlPlaneStatus
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Watch
from cobaltcore.engine.verdict import Blocked
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.admission import (
    ALLOWED,
    AdmissionRequest,
    Decision,
    Validating,
    denied,
)
from cobaltcore.runtime.meta import Key, Object, key_of
from cobaltcore.runtime.store import Change

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster
    from cobaltcore.runtime.controller import KeysOf

REASON = "NamespaceOccupied"


def oldest(planes: Iterable[Object]) -> Object | None:
    """The ControlPlane that a namespace belongs to."""
    return min(planes, key=_age, default=None)


def conflict(view: View) -> Plan[ControlPlaneStatus] | None:
    """What is left to report if the namespace belongs to another ControlPlane."""
    first = oldest(view.observed.list(KIND, view.namespace))
    if first is None or _age(first) >= _age(view.live):
        return None
    return Plan(verdict=Blocked(REASON, message(key_of(first))))


def message(first: Key) -> str:
    return (
        f"namespace {first.namespace!r} has the ControlPlane {first.name!r} already, and the "
        "objects of two would have the same names; create this one in another namespace"
    )


def validation(
    planes: Callable[[str], Iterable[Object]], advice: Callable[[Object], Iterable[str]]
) -> Validating:
    """Refuse a second ControlPlane; `planes` lists those of a namespace."""

    async def validate(request: AdmissionRequest) -> Decision:
        if request.object is None:
            return ALLOWED
        warnings = tuple(advice(request.object))
        first = oldest(planes(request.namespace))
        if request.operation == "CREATE" and first is not None:
            return denied(message(key_of(first)), code=409, warnings=warnings)
        return Decision(warnings=warnings)

    return validate


def _keys(cluster: "Cluster", _: object) -> "KeysOf":
    """The other ControlPlanes of a namespace that one was deleted from."""

    def of(change: Change) -> Iterator[Key]:
        if change.after is None:
            yield from map(key_of, cluster.informer(KIND).objects(change.key.namespace))

    return of


DELETIONS = Watch(KIND, _keys)


def _age(plane: Object) -> tuple[str, str]:
    meta = plane["metadata"]
    return meta["creationTimestamp"], meta["name"]
