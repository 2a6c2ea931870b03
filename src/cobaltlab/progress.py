"""One line of progress: rewritten on a terminal, printed every PLAIN_EVERY_SECONDS elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

PLAIN_EVERY_SECONDS = 15.0
TERMINAL_EVERY_SECONDS = 0.2
_CLEAR_LINE = "\r\x1b[2K"


class Reporter(Protocol):
    """Shows the progress of a build."""

    def update(self, state: str) -> None: ...

    def finish(self, state: str) -> None: ...


class CallbackReporter:
    """Forwards every state to a callback."""

    def __init__(self, title: str, report: Callable[[str], None]) -> None:
        self._title = title
        self._report = report

    def update(self, state: str) -> None:
        self._report(f"{self._title}: {state}")

    def finish(self, state: str) -> None:
        self.update(state)


class Progress:
    """Prints a title, the elapsed time, and the latest state."""

    def __init__(
        self,
        title: str,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._clock = clock
        self._is_terminal = self._stream.isatty()
        self._began = clock()
        self._next = self._began

    @property
    def elapsed(self) -> float:
        return self._clock() - self._began

    def update(self, state: str) -> None:
        """Print the state, unless the last line is too recent."""
        if self._clock() < self._next:
            return
        every = TERMINAL_EVERY_SECONDS if self._is_terminal else PLAIN_EVERY_SECONDS
        self._next = self._clock() + every
        self._write(state, end="" if self._is_terminal else "\n")

    def finish(self, state: str) -> None:
        """Print the final state and a newline."""
        self._write(state, end="\n")

    def _write(self, state: str, *, end: str) -> None:
        start = _CLEAR_LINE if self._is_terminal else ""
        minutes, seconds = divmod(int(self.elapsed), 60)
        self._stream.write(f"{start}{self._title} [{minutes}:{seconds:02d}] {state}{end}")
        self._stream.flush()
