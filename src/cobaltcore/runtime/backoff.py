"""When to try again, and how often to look at something that never rests. Pure but for the dice."""

import random
from collections.abc import Hashable
from dataclasses import dataclass


class Backoff:
    """Growing, jittered delays per key; `forget` starts over."""

    def __init__(self, *, first: float = 0.05, longest: float = 60) -> None:
        self._first = first
        self._longest = longest
        self._failures: dict[Hashable, int] = {}

    def next(self, key: Hashable) -> float:
        """Count a failure and tell how many seconds to wait."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._longest, self._first * 2.0 ** min(failures, 30))
        return delay * random.uniform(0.75, 1.25)  # noqa: S311 - spreads retries, not a secret

    def failures(self, key: Hashable) -> int:
        """How often the key failed since it last worked."""
        return self._failures.get(key, 0)

    def forget(self, key: Hashable) -> None:
        """The key works again."""
        self._failures.pop(key, None)


@dataclass(slots=True)
class _Pulse:
    tokens: float
    last: float
    spacing: float
    changes: int = 0


class Pace:
    """Space out passes over a key that changes all the time.

    A few passes in a row run at once. Then a pass waits until the key is quiet for a moment, or for
    `spacing` seconds if it never is. A storm (many changes since the last pass) makes the spacing
    grow, a mere bustle lets it shrink again.
    """

    BURST = 3
    QUIET = 0.5
    STORM = 5
    SHORTEST = 0.25
    LONGEST = 30.0
    SWEPT_FROM = 1024

    def __init__(self) -> None:
        self._pulses: dict[Hashable, _Pulse] = {}
        self._sweep_at = self.SWEPT_FROM

    def noticed(self, key: Hashable) -> None:
        """Count a change."""
        pulse = self._pulses.get(key)
        if pulse is not None:
            pulse.changes += 1

    def delay(self, key: Hashable, now: float) -> float:
        """Seconds until a pass may start, for a change that comes now."""
        pulse = self._pulses.get(key)
        if pulse is None or self._tokens(pulse, now) >= 1:
            return 0
        return max(0.0, min(pulse.last + pulse.spacing - now, self.QUIET))

    def ran(self, key: Hashable, now: float) -> None:
        """A pass over `key` starts."""
        pulse = self._pulses.get(key)
        if pulse is None:
            self._forget_rested(now)
            self._pulses[key] = _Pulse(self.BURST - 1, now, self.SHORTEST)
            return
        stormy = pulse.changes >= self.STORM
        spacing = pulse.spacing * 3 if stormy else pulse.spacing / 3
        pulse.tokens = max(0.0, self._tokens(pulse, now) - 1)
        pulse.spacing = min(self.LONGEST, max(self.SHORTEST, spacing))
        pulse.last = now
        pulse.changes = 0

    def _tokens(self, pulse: _Pulse, now: float) -> float:
        return min(self.BURST, pulse.tokens + (now - pulse.last) / (2 * pulse.spacing))

    def _forget_rested(self, now: float) -> None:
        if len(self._pulses) < self._sweep_at:
            return
        rested = [k for k, p in self._pulses.items() if self._tokens(p, now) >= self.BURST]
        for key in rested:
            del self._pulses[key]
        # Doubling keeps the cost per key constant, however many keys are awake at once.
        self._sweep_at = max(self.SWEPT_FROM, 2 * len(self._pulses))
