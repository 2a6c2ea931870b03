"""Deadlines that are set all the time and hardly ever missed, without a timer for each."""

import asyncio
from collections.abc import Callable
from types import TracebackType


class Deadline:
    """Calls `missed` once a deadline that was set has passed without being lifted.

    One timer serves many settings: when it rings early it is wound up for the rest.
    """

    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed
        self._loop = asyncio.get_running_loop()
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0

    def set(self, seconds: float) -> None:
        """Be done within `seconds` from now."""
        self._due = self._loop.time() + seconds
        if self._timer is not None and self._rings > self._due:
            self.cancel()
        if self._timer is None:
            self._wind_up(self._due)

    def lift(self) -> None:
        """It is done."""
        self._due = None

    def cancel(self) -> None:
        """Stop the timer: nothing will be set any more, or something much earlier."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wind_up(self, due: float) -> None:
        self._rings = due
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._wind_up(self._due)
        else:
            self._due = None
            self._missed()


class Limit:
    """Bounds what one task does, over and over: as asyncio.timeout, which serves once."""

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can be bounded")
        self._task = task
        self._seconds = seconds
        self._cancelling = 0
        self._expired = False
        self._deadline = Deadline(self._expire)

    def __enter__(self) -> None:
        self._cancelling = self._task.cancelling()
        self._deadline.set(self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._deadline.lift()
        if not self._expired:
            return
        self._expired = False
        ours = self._task.uncancel() <= self._cancelling
        if ours and kind is asyncio.CancelledError:
            raise TimeoutError(f"not done within {self._seconds:g} seconds") from error

    def cancel(self) -> None:
        """The task ends."""
        self._deadline.cancel()

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()
