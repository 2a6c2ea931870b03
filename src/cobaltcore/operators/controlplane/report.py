"""From a walk over the graph to the status of a ControlPlane. Pure."""

from collections.abc import Mapping

from cobaltcore.api.controlplane import IdentityReport, ServiceReport
from cobaltcore.engine.graph import Walk
from cobaltcore.engine.verdict import Ready, Verdict, Waiting, condition
from cobaltcore.operators.controlplane import users
from cobaltcore.operators.controlplane.parts import SERVICES
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Condition

ALL_READY = "AllServicesReady"
CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "InfrastructureReady": ("Infrastructure",),
    "KeystoneReady": ("Identity",),
    "KORCReady": ("Catalog",),
    "ServicesReady": ("Core", "Compute", "Scheduler"),
}
"""Which condition speaks about which phases."""


def conditions(walk: Walk) -> list[Condition]:
    """`Ready` names the first blocker; the others each speak about their phases."""
    blocker = walk.blocker
    if blocker is None:
        ready = condition("Ready", Ready(ALL_READY))
    else:
        name, verdict = blocker
        ready = condition("Ready", Waiting(verdict.reason, f"{name}: {verdict.message}"))
    return [ready, *(condition(type_, _of(walk, phases)) for type_, phases in CONDITIONS.items())]


def phase(walk: Walk) -> str:
    """The phase of the first part that is not ready."""
    for name, verdict in walk.verdicts.items():
        if not isinstance(verdict, Ready):
            return walk.phases[name]
    return "Ready"


def progress(walk: Walk) -> str:
    """Parts that are ready of all parts."""
    ready, whole = walk.progress
    return f"{ready}/{whole}"


def services(walk: Walk, tags: Mapping[str, str]) -> dict[str, ServiceReport]:
    """Every OpenStack service in short."""
    return {
        name: ServiceReport(
            ready=isinstance(verdict, Ready), version=tags[name], message=verdict.message or None
        )
        for name, verdict in walk.verdicts.items()
        if walk.phases[name] != "Infrastructure" and name in tags
    }


def identity(view: View, walk: Walk) -> IdentityReport | None:
    """Users and credentials in short; None while there are none."""
    shown = [name for name in SERVICES if f"{name}-credentials" in walk.verdicts]
    return users.report(view, shown) if shown else None


def _of(walk: Walk, phases: tuple[str, ...]) -> Verdict:
    parts = {name: v for name, v in walk.verdicts.items() if walk.phases[name] in phases}
    for name, verdict in parts.items():
        if not isinstance(verdict, Ready):
            return Waiting(verdict.reason, f"{name}: {verdict.message}")
    return Ready("Ready", f"{len(parts)}/{len(parts)} parts ready")
