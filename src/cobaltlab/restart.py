"""Back-off of restarts, as for CrashLoopBackOff: doubles while a process keeps ending.

Standard library only.
"""

import time
from collections.abc import Callable

STEADY_SECONDS = 30.0


class RestartBackoff:
    """When one process may be started again; a run of STEADY_SECONDS resets the delay."""

    def __init__(
        self, *, first: float, longest: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first = first
        self._longest = longest
        self._clock = clock
        self._delay = first
        self._started = 0.0
        self._not_before = 0.0
        self.is_running = False

    def started(self) -> None:
        """Record that it is running, or that a start was attempted."""
        if not self.is_running:
            self._started = self._clock()
            self.is_running = True

    def ended(self) -> float:
        """Record that it is not running; return the delay of the next start in seconds."""
        if not self.is_running:
            return 0.0
        self.is_running = False
        if self._clock() - self._started > STEADY_SECONDS:
            self._delay = self._first
        delay = self._delay
        self._not_before = self._clock() + delay
        self._delay = min(delay * 2, self._longest)
        return delay

    @property
    def is_due(self) -> bool:
        return self._clock() >= self._not_before
