"""Run a program of Cinder that has no port: PROGRAM [OPTION...]; it is ready while it is up for Cinder."""

from collections.abc import Sequence
from typing import Any

from cobaltcore.agents import heartbeat


def main(arguments: Sequence[str]) -> int:
    """Run until the pod is deleted."""
    return heartbeat.run("cinder", arguments, watch)


def readiness_problem(arguments: Sequence[str]) -> str | None:
    """Ready while all report: COMPONENT [BACKEND...]; cinder-volume has a process for each backend."""
    component, *backends = arguments
    return heartbeat.problem("cinder", component, backends)


def watch(service: Any, program: str) -> heartbeat.Report:
    """A service reports for itself, but not while its backend is not initialized."""
    _, at, backend = service.host.partition("@")
    report = service.report_state
    renew = heartbeat.renewing(
        report,
        f"{program}{at}{backend}",
        lambda: service.manager.is_working() and not service.model_disconnected,
    )
    service.report_state = renew
    return renew
