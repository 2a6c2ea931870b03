"""Programs of OpenStack without a port, whose readiness is the heartbeat that they report themselves.

A service starts to report once it takes requests from the broker, and its record is what the API
shows as `up`. So the first report that succeeds proves that it has read its configuration, consumes
from its queues, and reaches the database (nova-compute: a conductor, which does).
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cobaltcore.agents import readiness

VALID_SECONDS = 60.0
"""OpenStack itself calls a service down after so long without a report (service_down_time)."""
Report = Callable[[], object]
Watch = Callable[[Any, str], Report]
"""Has a service, before it starts, renew a readiness with each report; returns its report."""


def run(project: str, arguments: Sequence[str], watch: Watch) -> int:
    """Be a program of a project, as its console script is; a program: nova-scheduler."""
    program, *options = arguments
    component = program.removeprefix(f"{project}-")
    readiness.withdraw(program)
    sys.argv = [program, *options]
    # It comes first: it may replace parts of Python, which nothing may have in use before.
    command = importlib.import_module(f"{project}.cmd.{component}")
    _report_once_started(importlib.import_module(f"{project}.service").Service, watch, program)
    code = command.main()
    return code if isinstance(code, int) else 0


def renewing(report: Report, name: str, works: Callable[[], bool]) -> Report:
    """A report that renews a readiness if it succeeded."""

    def renew() -> None:
        report()
        if works():
            readiness.renew(name, valid_seconds=VALID_SECONDS)

    return renew


def problem(project: str, component: str, parts: Sequence[str] = ()) -> str | None:
    """Why a program, or one of the parts that report on their own, is not ready."""
    names = [f"{project}-{component}@{part}" for part in parts] or [f"{project}-{component}"]
    return next(filter(None, map(readiness.problem, names)), None)


def _report_once_started(service: Any, watch: Watch, program: str) -> None:
    """Report at once instead of some seconds after the start."""
    start = service.start

    def start_and_report(self: Any) -> None:
        report = watch(self, program)
        start(self)
        report()

    service.start = start_and_report
