"""Time as an argument, so that tests control it."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Wall-clock time in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, and continue while the machine is suspended."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` once, after `seconds`."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` on this clock."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        # Leases of a machine that sleeps expire meanwhile; the usual clock stops with it.
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
