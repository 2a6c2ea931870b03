"""ControlPlanes without a server: one from the example, and changes of what it sees."""

from typing import Any

from cobaltcore.operators.controlplane.planner import ControlPlanePlanner
from cobaltcore.runtime.meta import Condition, Key, Kind
from tests.support import planning
from tests.support.simulation import Simulation

NAMESPACE = planning.NAMESPACE


def a_control_plane(**spec: Any) -> Simulation:
    """The minimal example, changed by dotted paths below spec; nothing else exists."""
    return Simulation(ControlPlanePlanner(), planning.an_object("ControlPlane", **spec))


def a_certified_one(**spec: Any) -> Simulation:
    """The same, after the certificates of its servers were issued."""
    plane = a_control_plane(**spec)
    plane.apply(plane.plan())
    return plane


def a_ready_one(**spec: Any) -> Simulation:
    """The same, after everything that it waits for reported that it is ready."""
    plane = a_control_plane(**spec)
    plane.converge()
    return plane


def applied(plane: Simulation) -> set[str]:
    """Kind and name of all objects of the next plan."""
    return {f"{each.kind.kind}/{each.key.name}" for each in plane.plan().objects}


def conditions(plane: Simulation) -> dict[str, Condition]:
    """Conditions of the next plan, by type."""
    return {each.type: each for each in plane.plan().conditions}


def key(name: str) -> Key:
    """A child of the control plane."""
    return Key(NAMESPACE, name)


def unready(plane: Simulation, kind: Kind, name: str, message: str = "") -> None:
    """Let a child report that it is not ready."""
    found = plane.objects[kind, key(name)]
    reports = found["status"]["conditions"]
    for each in reports:
        each |= {"status": "False", "reason": "NotReady", "message": message}
