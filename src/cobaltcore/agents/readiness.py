"""Readiness of agents without a port: a file that is valid for some seconds after each success.

`cobalt-agent ready` asks it, in a process of its own. Both see the same clock of the node.
"""

import time
from contextlib import suppress
from pathlib import Path

DIRECTORY = Path("/tmp")  # noqa: S108 of the container or an empty volume of the pod


def renew(agent: str, *, valid_seconds: float) -> bool:
    """Say that an agent works; True if that is new. Cheap, so it may be said at every look."""
    left = _seconds_left(agent)
    if left < valid_seconds / 2:
        path = _path(agent)
        new = path.with_suffix(".new")
        new.write_text(f"{time.monotonic() + valid_seconds}\n")
        new.rename(path)
    return left <= 0


def withdraw(agent: str) -> None:
    """Say that an agent does not work."""
    _path(agent).unlink(missing_ok=True)


def problem(agent: str) -> str | None:
    """Why an agent is not ready; None if it is."""
    if not _path(agent).exists():
        return f"{agent} has not done its work yet, or failed the last time; see its log"
    left = _seconds_left(agent)
    return None if left > 0 else f"{agent} has been silent for {-left:.0f} s longer than it may be"


def _seconds_left(agent: str) -> float:
    with suppress(OSError, ValueError):
        return float(_path(agent).read_text()) - time.monotonic()
    return 0.0


def _path(agent: str) -> Path:
    return DIRECTORY / f"cobalt-agent-{agent}.ready"
