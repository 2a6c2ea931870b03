"""A child process that writes to a log file and never outlives its parent.

The kernel ends the child when the thread that started it ends, so start children from a thread
that stays: the main one, or a supervisor's own.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from cobaltcore.lab import errors

POLL_SECONDS = 0.02
TAIL_LINES = 15
STOP_GRACE = timedelta(seconds=20)

# Runs first in the child: asks the kernel (PR_SET_PDEATHSIG) for SIGKILL at the parent's end, leaves
# if that end came before, and becomes the program. Code between fork and exec would not be safe
# in a process with threads.
_LEASH = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass
class Child:
    """One program (its whole path) and its arguments; may be started and stopped many times."""

    name: str
    arguments: Sequence[str | Path]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the program; its output is appended to the log."""
        if self.is_running:
            raise errors.LabError(f"{self.name} is running already")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - arguments are ours, no shell
                [*_leashed(os.getpid()), *map(str, self.arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )

    def stop(self, *, grace: timedelta = STOP_GRACE) -> None:
        """Ask the process to end, and end it by force after `grace`."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(grace.total_seconds())
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()

    def wait_until(
        self, condition: Callable[[], bool], *, within: timedelta, what: str = "ready"
    ) -> None:
        """Wait for a condition; fail as soon as the process ends, and at the latest after `within`."""
        deadline = time.monotonic() + within.total_seconds()
        while not condition():
            if self._has_ended_after(POLL_SECONDS):
                raise self._failure(
                    f"ended with exit code {self._exit_code()} before it was {what}"
                )
            if time.monotonic() > deadline:
                raise self._failure(f"was not {what} within {within.total_seconds():.0f} s")

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of the log."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _has_ended_after(self, seconds: float) -> bool:
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _exit_code(self) -> int | None:
        return self._process.returncode if self._process else None

    def _failure(self, what: str) -> errors.LabError:
        return errors.LabError(
            f"{self.name} {what}; the end of its log {self.log}:\n{self.tail()}",
            hint=f"read {self.log}",
        )


def _leashed(parent: int) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _LEASH, str(parent)]
