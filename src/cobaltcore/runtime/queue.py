"""The queue of a controller, after client-go's workqueue.

A key waits at most once however often it is added. While a worker processes it, further adds mark
it dirty and it is queued again when the worker is done, so no two workers have the same key. Failed
keys are retried with back-off, keys that change all the time are throttled.

Keys that were reconciled before come first, so that what was started becomes ready before more is
started. Then come new keys, then those of the initial list. Every eighth turn is for the lowest
priority that waits, so that no key starves.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar

from cobaltcore.runtime.backoff import Backoff, Throttle
from cobaltcore.runtime.clock import Clock, SystemClock, Timer

K = TypeVar("K", bound=Hashable)

FAIR_TURN = 8


class Priority(IntEnum):
    """Which keys come first."""

    STARTED = 0
    NEW = 1
    INITIAL = 2


_HIGHEST_FIRST = tuple(Priority)
_LOWEST_FIRST = tuple(reversed(Priority))


class _Delayed(NamedTuple):
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
        self._throttle = Throttle()
        self._waiting: dict[K, Priority] = {}
        self._order: tuple[deque[K], ...] = tuple(deque() for _ in Priority)
        """Keys by priority; an entry whose key has another priority by now is skipped."""
        self._turn = 0
        self._processing: set[K] = set()
        self._dirty: set[K] = set()
        self._delayed: dict[K, _Delayed] = {}
        self._throttled: dict[K, Timer] = {}
        self._idle_workers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no key waits, is processed, or is due later."""
        return not (self._waiting or self._processing or self._delayed or self._throttled)

    @property
    def busy(self) -> bool:
        """Whether a key waits or is processed; those due later do not count."""
        return bool(self._waiting or self._processing or self._throttled)

    def is_dirty(self, key: K) -> bool:
        """Whether `key` is processed now and will be processed again after that."""
        return key in self._dirty

    def add(self, key: K, *, initial: bool = False) -> None:
        """Request a reconcile of `key`."""
        self._throttle.record_change(key)
        if key in self._processing:
            self._dirty.add(key)
        elif key in self._waiting:
            self._enqueue(key, self._priority(key, initial=initial))
        else:
            self._admit(key, initial=initial)

    def add_after(self, key: K, seconds: float) -> None:
        """Request a reconcile after a delay; an earlier request is kept."""
        due = self._clock.monotonic() + seconds
        known = self._delayed.get(key)
        if known is not None:
            if known.due <= due:
                return
            known.timer.cancel()
        timer = self._clock.call_later(seconds, lambda: self._on_due(key))
        self._delayed[key] = _Delayed(due, timer)

    async def get(self, *, unless: Callable[[], bool] = lambda: False) -> K | None:
        """Wait for the next key; call `done` when finished with it. None once `unless` holds."""
        while not self._waiting:
            if unless():
                return None
            wakeup = asyncio.get_running_loop().create_future()
            self._idle_workers.append(wakeup)
            try:
                await wakeup
            except asyncio.CancelledError:
                self._hand_over(wakeup)
                raise
        key = self._next()
        self._processing.add(key)
        self._throttle.record_start(key, self._clock.monotonic())
        return key

    def done(self, key: K) -> None:
        """Finish processing; the key is queued again if it is dirty."""
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self._admit(key)

    def retry(self, key: K, *, at_least: float = 0) -> float:
        """Request a retry after a failure; return the delay in seconds."""
        delay = max(at_least, self._backoff.next(key))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the failures of a key."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._backoff.failures(key)

    def wake_all(self) -> None:
        """Let every idle worker evaluate its `unless`."""
        while self._idle_workers:
            self._wake_one()

    def close(self) -> None:
        """Cancel everything that is due later."""
        delayed = (each.timer for each in self._delayed.values())
        for timer in [*delayed, *self._throttled.values()]:
            timer.cancel()
        self._delayed.clear()
        self._throttled.clear()

    def _next(self) -> K:
        self._turn += 1
        for priority in _HIGHEST_FIRST if self._turn % FAIR_TURN else _LOWEST_FIRST:
            order = self._order[priority]
            while order:
                key = order.popleft()
                if self._waiting.get(key) == priority:
                    del self._waiting[key]
                    return key
        raise LookupError("no key waits")

    def _priority(self, key: K, *, initial: bool = False) -> Priority:
        if self._throttle.is_known(key):
            return Priority.STARTED
        return Priority.INITIAL if initial else Priority.NEW

    def _admit(self, key: K, *, initial: bool = False) -> None:
        """Queue the key, now or when its throttle allows."""
        throttled = self._throttled.pop(key, None)
        if throttled is not None:
            throttled.cancel()
        delay = self._throttle.delay(key, self._clock.monotonic())
        if delay > 0:
            self._throttled[key] = self._clock.call_later(delay, lambda: self._on_due(key))
        else:
            self._enqueue(key, self._priority(key, initial=initial))

    def _on_due(self, key: K) -> None:
        self._cancel_timers(key)
        if key in self._processing:
            self._dirty.add(key)
        else:
            self._enqueue(key, self._priority(key))

    def _cancel_timers(self, key: K) -> None:
        delayed, throttled = self._delayed.pop(key, None), self._throttled.pop(key, None)
        if delayed is not None:
            delayed.timer.cancel()
        if throttled is not None:
            throttled.cancel()

    def _enqueue(self, key: K, priority: Priority) -> None:
        """Queue the key; one that waits already may move to a higher priority."""
        self._cancel_timers(key)
        known = self._waiting.get(key)
        if known is None or priority < known:
            self._waiting[key] = priority
            self._order[priority].append(key)
        if known is None:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._idle_workers:
            wakeup = self._idle_workers.popleft()
            if not wakeup.done():
                wakeup.set_result(None)
                return

    def _hand_over(self, wakeup: asyncio.Future[None]) -> None:
        """A cancelled worker hands its wake-up over to another."""
        if wakeup.done() and not wakeup.cancelled() and self._waiting:
            self._wake_one()
