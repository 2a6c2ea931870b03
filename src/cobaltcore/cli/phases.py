"""Progress of a long command: phases with their elapsed time.

`Phases` measures, a listener shows: `Live` rewrites one line on a terminal, `Plain` writes a line
when a phase ends, `JsonLines` writes one JSON object per event. None of them prints by itself: they
get the function that does.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec

from cobaltcore.agents.waiting import repeat

State = Literal["started", "running", "done", "failed"]
Write: TypeAlias = Callable[[str], None]

REFRESH_SECONDS = 0.1
_CLEAR_LINE = "\r\x1b[2K"
_MARKS = {"started": "…", "running": "…", "done": "✓", "failed": "✗"}


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a phase; `seconds` since its start, `total` since the start of the command."""

    phase: str
    state: State
    seconds: float
    total: float
    detail: str = ""


class Listener(Protocol):
    """Shows phases."""

    def show(self, event: Event) -> None: ...


class Silent:
    """Shows nothing."""

    def show(self, event: Event) -> None:
        return


class Phase:
    """The running phase."""

    def __init__(self, emit: Callable[[State, str], None]) -> None:
        self._emit = emit
        self.latest = ""
        self.outcome = ""

    def detail(self, text: str) -> None:
        """Show progress within the phase."""
        if text != self.latest:
            self.latest = text
            self._emit("running", text)

    def result(self, text: str) -> None:
        """Set the result that the line of the finished phase shows."""
        self.outcome = text


class Phases:
    """Runs phases one after the other and measures each."""

    def __init__(
        self, listener: Listener | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._listener = listener or Silent()
        self._clock = clock
        self._began = clock()
        self.seconds: dict[str, float] = {}

    @property
    def total(self) -> float:
        """Seconds since the start of the command."""
        return self._clock() - self._began

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Measure a `with` block; an exception makes it a failed phase."""
        began = self._clock()

        def emit(state: State, detail: str) -> None:
            seconds = round(self._clock() - began, 3)
            event = Event(name, state, seconds, round(self.total, 3), detail)
            self._listener.show(event)

        emit("started", "")
        phase = Phase(emit)
        try:
            yield phase
        except BaseException:
            emit("failed", phase.latest)
            raise
        self.seconds[name] = round(self._clock() - began, 3)
        emit("done", phase.outcome)


class Plain:
    """One line when a phase ends, and lines at intervals during a long one."""

    def __init__(self, write_line: Write, *, every_seconds: float = 15.0) -> None:
        self._write_line = write_line
        self._every = every_seconds
        self._next = every_seconds

    def show(self, event: Event) -> None:
        if event.state == "started":
            self._next = self._every
        elif event.state != "running":
            self._write_line(line(event))
        elif event.seconds >= self._next:
            self._next = event.seconds + self._every
            self._write_line(line(event))


class Live:
    """The running phase in a line that is rewritten every 0.1 s; ended ones stay above it."""

    def __init__(self, write: Write, *, width: int = 100) -> None:
        self._write = write
        self._width = width
        self._lock = threading.Lock()
        self._event: Event | None = None
        self._since = 0.0
        self._ticker: threading.Thread | None = None

    def show(self, event: Event) -> None:
        with self._lock:
            ended = event.state in {"done", "failed"}
            self._event = None if ended else event
            self._since = time.monotonic()
            self._draw(event, end="\n" if ended else "")
        if self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    def _draw(self, event: Event, *, end: str) -> None:
        text = line(event)
        self._write(f"{_CLEAR_LINE}{text if end else text[: self._width]}{end}")

    def _tick(self) -> None:
        repeat(self._redraw, interval=REFRESH_SECONDS)

    def _redraw(self) -> None:
        with self._lock:
            event = self._event
            if event is not None:
                seconds = event.seconds + time.monotonic() - self._since
                self._draw(
                    Event(event.phase, event.state, seconds, event.total, event.detail), end=""
                )


class JsonLines:
    """One JSON object per event, for machines."""

    def __init__(self, write_line: Write) -> None:
        self._write_line = write_line

    def show(self, event: Event) -> None:
        self._write_line(msgspec.json.encode({"event": "phase", **asdict(event)}).decode())


def line(event: Event) -> str:
    """An event as text."""
    detail = f"  {event.detail}" if event.detail else ""
    return f"{_MARKS[event.state]} {event.seconds:6.1f} s  {event.phase}{detail}"
