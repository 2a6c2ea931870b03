"""A clock that stops until a test advances it."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cobaltcore.runtime.clock import Timer


class _Timer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """Time moves only by `advance`."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _Timer]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        timer = _Timer(callback)
        heapq.heappush(self._timers, (self._elapsed + seconds, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        done = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not done.done():
                done.set_result(None)

        timer = self.call_later(seconds, wake)
        try:
            await done
        finally:
            timer.cancel()

    async def advance(self, seconds: float) -> None:
        """Move on, running what falls due on the way, each at its own time."""
        target = self._elapsed + seconds
        await settle()
        while self._timers and self._timers[0][0] <= target:
            due, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, due)
            if not timer.cancelled:
                timer.callback()
                await settle()
        self._elapsed = max(self._elapsed, target)
        await settle()

    def stop_process(self, seconds: float) -> None:
        """Time passes as for a stopped process: what falls due runs only after that."""
        self._elapsed += seconds


async def settle(turns: int = 20) -> None:
    """Let tasks that can run do so."""
    for _ in range(turns):
        await asyncio.sleep(0)
