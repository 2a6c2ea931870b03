"""Delays: back-off of retries, and the throttle of keys that change all the time."""

import random
from collections.abc import Hashable
from dataclasses import dataclass


class Backoff:
    """Exponential, jittered delays per key."""

    def __init__(self, *, first: float = 0.05, longest: float = 60) -> None:
        self._first = first
        self._longest = longest
        self._failures: dict[Hashable, int] = {}

    def next(self, key: Hashable) -> float:
        """Count a failure; return the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._longest, self._first * 2.0 ** min(failures, 30))
        return delay * random.uniform(0.75, 1.25)  # noqa: S311 - spreads retries, not a secret

    def failures(self, key: Hashable) -> int:
        """How often the key failed in a row."""
        return self._failures.get(key, 0)

    def forget(self, key: Hashable) -> None:
        """Reset the failures of a key."""
        self._failures.pop(key, None)


@dataclass(slots=True)
class _Rate:
    tokens: float
    last: float
    spacing: float
    changes: int = 0


class Throttle:
    """Spaces out the reconciles of a key that changes all the time.

    A burst of reconciles runs at once. Then a reconcile waits until the key has not changed for
    `QUIET` seconds, or for the key's spacing if it keeps changing. The spacing grows when there are
    `STORM` changes or more between two reconciles, and shrinks again when there are fewer.
    """

    BURST = 3
    QUIET = 0.5
    STORM = 5
    SHORTEST = 0.25
    LONGEST = 30.0
    REMEMBERED = 600.0
    SWEPT_FROM = 1024

    def __init__(self) -> None:
        self._rates: dict[Hashable, _Rate] = {}
        self._sweep_at = self.SWEPT_FROM

    def is_known(self, key: Hashable) -> bool:
        """Whether `key` was reconciled, at least if that was in the last `REMEMBERED` seconds."""
        return key in self._rates

    def record_change(self, key: Hashable) -> None:
        """Count a change."""
        rate = self._rates.get(key)
        if rate is not None:
            rate.changes += 1

    def delay(self, key: Hashable, now: float) -> float:
        """Seconds until a reconcile may start, for a change at `now`."""
        rate = self._rates.get(key)
        if rate is None or self._tokens(rate, now) >= 1:
            return 0
        return max(0.0, min(rate.last + rate.spacing - now, self.QUIET))

    def record_start(self, key: Hashable, now: float) -> None:
        """Count a reconcile that starts."""
        rate = self._rates.get(key)
        if rate is None:
            self._forget_old(now)
            self._rates[key] = _Rate(self.BURST - 1, now, self.SHORTEST)
            return
        stormy = rate.changes >= self.STORM
        spacing = rate.spacing * 3 if stormy else rate.spacing / 3
        rate.tokens = max(0.0, self._tokens(rate, now) - 1)
        rate.spacing = min(self.LONGEST, max(self.SHORTEST, spacing))
        rate.last = now
        rate.changes = 0

    def _tokens(self, rate: _Rate, now: float) -> float:
        return min(self.BURST, rate.tokens + (now - rate.last) / (2 * rate.spacing))

    def _forget_old(self, now: float) -> None:
        if len(self._rates) < self._sweep_at:
            return
        old = [key for key, rate in self._rates.items() if self._is_old(rate, now)]
        for key in old:
            del self._rates[key]
        # Doubling keeps the cost per key constant, however many keys are remembered.
        self._sweep_at = max(self.SWEPT_FROM, 2 * len(self._rates))

    def _is_old(self, rate: _Rate, now: float) -> bool:
        return now - rate.last > self.REMEMBERED
