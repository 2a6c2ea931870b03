"""Run a program of Nova that has no port: PROGRAM [OPTION...]; it is ready while it is up for Nova."""

from collections.abc import Sequence
from typing import Any

from cobaltcore.agents import heartbeat


def main(arguments: Sequence[str]) -> int:
    """Run until the pod is deleted."""
    return heartbeat.run("nova", arguments, watch)


def readiness_problem(arguments: Sequence[str]) -> str | None:
    """Ready while its record is renewed: COMPONENT, which is a program without `nova-`."""
    return heartbeat.problem("nova", arguments[0])


def watch(service: Any, program: str) -> heartbeat.Report:
    """The driver of service groups reports for a service."""
    driver = service.servicegroup_api._driver  # noqa: SLF001 Nova has no other way to it
    report = driver._report_state  # noqa: SLF001
    renew = heartbeat.renewing(
        lambda: report(service), program, lambda: not service.model_disconnected
    )
    driver._report_state = lambda _: renew()  # noqa: SLF001
    return renew
