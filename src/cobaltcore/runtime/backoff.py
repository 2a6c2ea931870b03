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


class Pace:
    """Space out passes over a key that changes all the time.

    A few passes in a row run at once. A key that goes on changing is looked at after `spacing`
    seconds, which doubles up to `longest`; a rest of `burst * spacing` makes it fresh again.
    """

    def __init__(self, *, burst: int = 3, spacing: float = 0.25, longest: float = 2) -> None:
        self._burst = burst
        self._spacing = spacing
        self._longest = longest
        self._pulses: dict[Hashable, _Pulse] = {}

    def delay(self, key: Hashable, now: float) -> float:
        """Seconds until the next pass over `key` may start."""
        pulse = self._pulses.get(key)
        if pulse is None or self._tokens(pulse, now) >= 1:
            return 0
        return max(0.0, pulse.last + pulse.spacing - now)

    def ran(self, key: Hashable, now: float) -> None:
        """A pass over `key` starts."""
        pulse = self._pulses.get(key)
        if pulse is None:
            self._forget_rested(now)
            self._pulses[key] = _Pulse(self._burst - 1, now, self._spacing)
            return
        tokens = self._tokens(pulse, now)
        if tokens >= self._burst:
            pulse.spacing = self._spacing
        elif tokens < 1:
            pulse.spacing = min(self._longest, pulse.spacing * 2)
        pulse.tokens = max(0.0, tokens - 1)
        pulse.last = now

    def _tokens(self, pulse: _Pulse, now: float) -> float:
        return min(self._burst, pulse.tokens + (now - pulse.last) / (2 * pulse.spacing))

    def _forget_rested(self, now: float) -> None:
        if len(self._pulses) < 1024:
            return
        rested = [k for k, p in self._pulses.items() if self._tokens(p, now) >= self._burst]
        for key in rested:
            del self._pulses[key]
