"""A child process that logs to a file and gets a parent-death signal.

The kernel kills the child when the thread that started it ends, so start children from a thread that
lives as long as they should.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from cobaltcore.agents import waiting
from cobaltlab import errors

POLL_SECONDS = 0.02
TAIL_LINES = 15
STOP_GRACE = timedelta(seconds=20)

# Runs first in the child: sets the parent-death signal (PR_SET_PDEATHSIG) to SIGKILL, exits if the
# parent has ended already, and execs the program. A preexec_fn would not be safe with threads.
_SET_PARENT_DEATH_SIGNAL = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass
class Child:
    """A program (absolute path) with arguments; can be started and stopped repeatedly."""

    name: str
    arguments: Sequence[str | Path]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The PID while it is running."""
        return self._process.pid if self._process and self.is_running else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the program; its output is appended to the log."""
        if self.is_running:
            raise errors.LabError(f"{self.name} is already running")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - arguments are ours, no shell
                [*_with_parent_death_signal(os.getpid()), *map(str, self.arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )

    def stop(self, *, grace: timedelta = STOP_GRACE) -> None:
        """Send SIGTERM, then SIGKILL after `grace`."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(grace.total_seconds())
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()

    def wait_until(
        self, condition: Callable[[], bool], *, within: timedelta, what: str = "ready"
    ) -> None:
        """Poll a condition; raises LabError when the process ends, or after `within`."""
        holds = False

        def settled() -> bool:
            nonlocal holds
            holds = condition()
            return holds or not self.is_running

        if not waiting.wait_until(settled, interval=POLL_SECONDS, timeout=within.total_seconds()):
            raise self._failure(f"was not {what} within {within.total_seconds():.0f} s")
        if not holds:
            raise self._failure(f"exited with code {self._exit_code()} before it was {what}")

    def tail(self, lines: int = TAIL_LINES) -> str:
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _exit_code(self) -> int | None:
        return self._process.returncode if self._process else None

    def _failure(self, what: str) -> errors.LabError:
        return errors.LabError(
            f"{self.name} {what}; the end of its log {self.log}:\n{self.tail()}",
            hint=f"read {self.log}",
        )


def _with_parent_death_signal(parent: int) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _SET_PARENT_DEATH_SIGNAL, str(parent)]
