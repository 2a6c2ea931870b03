"""One line of progress: rewritten in place on a terminal, repeated now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

PLAIN_EVERY_SECONDS = 15.0
TERMINAL_EVERY_SECONDS = 0.2
_CLEAR_LINE = "\r\x1b[2K"


class Shown(Protocol):
    """Whoever shows how far something is."""

    def update(self, state: str) -> None:
        """Hear the latest state."""
        ...

    def finish(self, state: str) -> None:
        """Hear the last state."""
        ...


class Relay:
    """Passes every state on to a command that shows progress in its own way."""

    def __init__(self, title: str, report: Callable[[str], None]) -> None:
        self._title = title
        self._report = report

    def update(self, state: str) -> None:
        """Pass the state on."""
        self._report(f"{self._title}: {state}")

    def finish(self, state: str) -> None:
        """Pass the last state on."""
        self.update(state)


class Progress:
    """Shows a title, the time since it began, and the latest state."""

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
        """Seconds since the beginning."""
        return self._clock() - self._began

    def update(self, state: str) -> None:
        """Show the state if the last line is old enough."""
        if self._clock() < self._next:
            return
        every = TERMINAL_EVERY_SECONDS if self._is_terminal else PLAIN_EVERY_SECONDS
        self._next = self._clock() + every
        self._write(state, end="" if self._is_terminal else "\n")

    def finish(self, state: str) -> None:
        """Show the last state and end the line."""
        self._write(state, end="\n")

    def _write(self, state: str, *, end: str) -> None:
        start = _CLEAR_LINE if self._is_terminal else ""
        minutes, seconds = divmod(int(self.elapsed), 60)
        self._stream.write(f"{start}{self._title} [{minutes}:{seconds:02d}] {state}{end}")
        self._stream.flush()
