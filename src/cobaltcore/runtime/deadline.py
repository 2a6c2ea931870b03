"""Deadlines that are set very often and rarely expire, without a timer for each."""

import asyncio
from collections.abc import Callable
from types import TracebackType


class Deadline:
    """Calls `expired` once a deadline that was set has passed without being cleared.

    One timer serves many settings: when it fires early it is set again for the rest.
    """

    def __init__(self, expired: Callable[[], None]) -> None:
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = 0.0

    def set(self, seconds: float) -> None:
        """Expire in `seconds` unless cleared or set again before."""
        self._due = self._loop.time() + seconds
        if self._timer is not None and self._fires_at > self._due:
            self.cancel()
        if self._timer is None:
            self._start_timer(self._due)

    def clear(self) -> None:
        """Do not expire; the timer stays for the next setting."""
        self._due = None

    def cancel(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_timer(self, due: float) -> None:
        self._fires_at = due
        self._timer = self._loop.call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._start_timer(self._due)
        else:
            self._due = None
            self._expired()


class Limit:
    """A reusable asyncio.timeout for one task."""

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
        self._deadline.clear()
        if not self._expired:
            return
        self._expired = False
        ours = self._task.uncancel() <= self._cancelling
        if ours and kind is asyncio.CancelledError:
            raise TimeoutError(f"not done within {self._seconds:g} seconds") from error

    def cancel(self) -> None:
        """Stop the timer when the task ends."""
        self._deadline.cancel()

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()
