"""A queue of keys where work is never lost and never doubled.

A key waits at most once however often it is added. While a worker has it, further adds are
remembered and it comes back when the worker is done, so no two workers hold the same key. Failed
keys come back with growing delays, keys in a storm of changes at a slower pace, and what the start
of the process found waits behind what changes now.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from cobaltcore.runtime.backoff import Backoff, Pace
from cobaltcore.runtime.clock import Clock, SystemClock, Timer

K = TypeVar("K", bound=Hashable)


class _Later(NamedTuple):
    due: float
    timer: Timer


class Queue(Generic[K]):
    """Keys that wait for a worker."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._backoff = backoff or Backoff()
        self._pace = Pace()
        self._urgent: deque[K] = deque()
        self._patient: deque[K] = deque()
        self._waiting: set[K] = set()
        self._held: set[K] = set()
        self._again: set[K] = set()
        self._later: dict[K, _Later] = {}
        self._paced: dict[K, Timer] = {}
        self._takers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether nothing waits, nothing is held and nothing is due later."""
        return not (self._waiting or self._held or self._later or self._paced)

    @property
    def busy(self) -> bool:
        """Whether something waits now or is held; what is due later does not count."""
        return bool(self._waiting or self._held or self._paced)

    def add(self, key: K, *, patient: bool = False) -> None:
        """Ask for a pass over `key`."""
        self._pace.noticed(key)
        if key in self._held:
            self._again.add(key)
        elif key not in self._waiting:
            self._admit(key, patient=patient)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a pass after a while; an earlier request stands."""
        due = self._clock.monotonic() + seconds
        known = self._later.get(key)
        if known is not None:
            if known.due <= due:
                return
            known.timer.cancel()
        timer = self._clock.call_later(seconds, lambda: self._due(key))
        self._later[key] = _Later(due, timer)

    async def get(self, *, unless: Callable[[], bool] = lambda: False) -> K | None:
        """Take the next key; call `done` when finished with it. None once `unless` holds."""
        while not self._waiting:
            if unless():
                return None
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                self._pass_on(taker)
                raise
        key = self._urgent.popleft() if self._urgent else self._patient.popleft()
        self._waiting.discard(key)
        self._held.add(key)
        self._pace.ran(key, self._clock.monotonic())
        return key

    def done(self, key: K) -> None:
        """Give the key back; it waits again if something changed meanwhile."""
        self._held.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._admit(key, patient=False)

    def retry(self, key: K, *, at_least: float = 0) -> float:
        """Ask for another try after a failure; return the delay in seconds."""
        delay = max(at_least, self._backoff.next(key))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key was handled: its failures do not count any more."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._backoff.failures(key)

    def wake_all(self) -> None:
        """Let every worker that waits for a key look around."""
        while self._takers:
            self._wake()

    def close(self) -> None:
        """Call off everything that is due later."""
        for timer in [*(later.timer for later in self._later.values()), *self._paced.values()]:
            timer.cancel()
        self._later.clear()
        self._paced.clear()

    def _admit(self, key: K, *, patient: bool) -> None:
        """Let the key wait for a worker, at the pace that its changes allow."""
        paced = self._paced.pop(key, None)
        if paced is not None:
            paced.cancel()
        delay = self._pace.delay(key, self._clock.monotonic())
        if delay > 0:
            self._paced[key] = self._clock.call_later(delay, lambda: self._due(key))
        else:
            self._enqueue(key, patient=patient)

    def _due(self, key: K) -> None:
        """Its time has come, by whichever of its timers."""
        self._call_off(key)
        if key in self._held:
            self._again.add(key)
        elif key not in self._waiting:
            self._enqueue(key, patient=False)

    def _call_off(self, key: K) -> None:
        later, paced = self._later.pop(key, None), self._paced.pop(key, None)
        if later is not None:
            later.timer.cancel()
        if paced is not None:
            paced.cancel()

    def _enqueue(self, key: K, *, patient: bool) -> None:
        self._call_off(key)
        self._waiting.add(key)
        (self._patient if patient else self._urgent).append(key)
        self._wake()

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _pass_on(self, taker: asyncio.Future[None]) -> None:
        """A cancelled worker hands its wake-up to the next one."""
        if taker.done() and not taker.cancelled() and self._waiting:
            self._wake()
