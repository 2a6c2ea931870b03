"""From a walk over the graph to the status of a ControlPlane. Pure."""

from collections.abc import Mapping

from cobaltcore.api.controlplane import (
    ControlPlaneStatus,
    IdentityReport,
    ServiceReport,
    UpdatePhase,
)
from cobaltcore.engine.graph import Walk
from cobaltcore.engine.verdict import Ready, Verdict, Waiting, blaming, condition
from cobaltcore.operators.controlplane import available, sharing, users
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Condition

ALL_READY = "AllServicesReady"
CONDITIONS: Mapping[str, tuple[str, ...]] = {
    "InfrastructureReady": ("Infrastructure",),
    "KeystoneReady": ("Identity",),
    "KORCReady": ("Catalog",),
    "ServicesReady": ("Core", "Compute", "Scheduler"),
}
"""Phases by the condition that reports on them."""
UPDATE_PHASES: Mapping[str, UpdatePhase] = {
    "Ready": "Idle",
    "Infrastructure": "UpdatingInfra",
    "Identity": "UpdatingKeystone",
}


def conditions(walk: Walk) -> tuple[Verdict, list[Condition]]:
    """The verdict on the whole, from the first blocker, and one condition per group of phases."""
    verdict: Verdict = Ready(ALL_READY) if walk.blocker is None else blaming(*walk.blocker)
    return verdict, [condition(type_, _of(walk, p)) for type_, p in CONDITIONS.items()]


def status(view: View, walk: Walk) -> ControlPlaneStatus:
    """Everything but the conditions."""
    before = view.status or ControlPlaneStatus()
    release = view.spec.open_stack_release
    ready = walk.blocker is None
    return ControlPlaneStatus(
        phase=phase(walk),
        progress=progress(walk),
        update_phase=update_phase(walk),
        installed_release=release if ready else before.installed_release,
        services=services(view, walk),
        identity=identity(view, walk),
    )


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


def update_phase(walk: Walk) -> UpdatePhase:
    """What is being updated: the first part that is not ready."""
    return UPDATE_PHASES.get(phase(walk), "UpdatingServices")


def services(view: View, walk: Walk) -> dict[str, ServiceReport]:
    """A summary of every OpenStack service."""
    return {
        name: ServiceReport(
            ready=isinstance(walk.verdicts[name], Ready),
            version=_version(view, name, walk.verdicts[name]),
            message=walk.verdicts[name].message or None,
        )
        for name in (each.name for each in available.all_services())
        if name in walk.verdicts
    }


def _version(view: View, service: str, verdict: Verdict) -> str | None:
    """What all pods run: that of the spec once it is rolled out, until then what was reported."""
    before = view.status.services.get(service) if view.status else None
    if not isinstance(verdict, Ready):
        return before.version if before else None
    image = sharing.image(view, service)
    return image.digest or image.tag


def identity(view: View, walk: Walk) -> IdentityReport | None:
    """A summary of users and credentials; None while there are none."""
    shown = {
        each.name: available.part_of(each).roles
        for each in available.with_user()
        if f"{each.name}-credentials" in walk.verdicts
    }
    return users.report(view, shown) if shown else None


def _of(walk: Walk, phases: tuple[str, ...]) -> Verdict:
    parts = {name: v for name, v in walk.verdicts.items() if walk.phases[name] in phases}
    for name, verdict in parts.items():
        if not isinstance(verdict, Ready):
            return Waiting(verdict.reason, f"{name}: {verdict.message}")
    return Ready("Ready", f"{len(parts)}/{len(parts)} parts ready")
