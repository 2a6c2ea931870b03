"""From changes to passes: sources name the keys that a change concerns, workers run the passes.

A pass gets a key, looks at the caches and makes the world fit. It returns how long to wait before
looking again (None: until something changes), or raises: then it is tried again, later each time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from cobaltcore.runtime import errors, log
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.deadline import Limit
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Scope
from cobaltcore.runtime.metrics import PASS_SECONDS, PASSES, QUEUE_DEPTH
from cobaltcore.runtime.queue import Queue
from cobaltcore.runtime.store import Change

Pass = Callable[[Key], Awaitable[timedelta | None]]
KeysOf = Callable[[Change], Iterable[Key]]

_log = log.get("controller")


@dataclass(frozen=True, slots=True)
class Source:
    """A kind whose changes concern a controller, and whom they concern."""

    kind: Kind
    keys: KeysOf
    scope: Scope = EVERYTHING
    cluster: str = "local"


def itself(change: Change) -> Iterable[Key]:
    """The changed object is the one to look at."""
    return (change.key,)


def unless_told(change: Change) -> Iterable[Key]:
    """The changed object is the one to look at, unless we have just told its status ourselves.

    For controllers that never read back what they tell: saves a pass per status.
    """
    return () if change.told else (change.key,)


def owner(kind: Kind) -> KeysOf:
    """The controlling owner of the changed object is the one to look at."""

    def keys(change: Change) -> Iterable[Key]:
        references = change.latest["metadata"].get("ownerReferences") or ()
        for reference in references:
            group = reference["apiVersion"].rpartition("/")[0]
            if reference["kind"] == kind.kind and group == kind.group:
                namespace = change.key.namespace if kind.namespaced else ""
                yield Key(namespace, reference["name"])

    return keys


def referrers(cluster: Cluster, kind: Kind, index: str) -> KeysOf:
    """Objects of `kind` that `index` found to name the changed object are to look at."""

    def keys(change: Change) -> Iterable[Key]:
        for obj in cluster.informer(kind).find(index, str(change.key)):
            yield Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])

    return keys


class Controller:
    """A queue and the workers on it."""

    def __init__(
        self,
        name: str,
        reconcile: Pass,
        sources: Iterable[Source],
        *,
        workers: int = 4,
        pass_timeout: timedelta = timedelta(minutes=5),
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.sources = tuple(sources)
        self._reconcile = reconcile
        self._workers = workers
        self._timeout = pass_timeout.total_seconds()
        self._clock = clock or SystemClock()
        self.queue: Queue[Key] = Queue(clock=self._clock)
        self._stopping = False
        QUEUE_DEPTH.labels(name).set_function(partial(len, self.queue))
        self._done = PASSES.labels(name, "done")
        self._seconds = PASS_SECONDS.labels(name)

    def notice(self, source: Source, change: Change) -> None:
        """Ask for passes over the keys that a change concerns."""
        for key in source.keys(change):
            self.queue.add(key, patient=change.initial)

    async def run(self) -> None:
        """Work until cancelled or told to stop."""
        self._stopping = False
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self.queue.close()

    def stop(self) -> None:
        """Finish the passes that run and take no new ones."""
        self._stopping = True
        self.queue.wake_all()

    async def _work(self) -> None:
        limit = Limit(self._timeout)
        try:
            while not self._stopping:
                key = await self.queue.get(unless=lambda: self._stopping)
                if key is None:
                    return
                await self._handle(key, limit)
        finally:
            limit.cancel()

    async def _handle(self, key: Key, limit: Limit) -> None:
        try:
            await self._pass(key, limit)
        except asyncio.CancelledError:
            # Somebody else may finish it: the key must not be lost with this worker.
            self.queue.add(key)
            raise
        finally:
            self.queue.done(key)

    async def _pass(self, key: Key, limit: Limit) -> None:
        started = self._clock.monotonic()
        with log.Context(controller=self.name, key=key):
            try:
                with limit:
                    after = await self._reconcile(key)
            except errors.Conflict as conflict:
                self._failed(key, "conflict", conflict)
            except Exception as error:  # noqa: BLE001 a pass may fail in any way and is tried again
                self._failed(key, "error", error)
            else:
                self._done.inc()
                self.queue.forget(key)
                if after is not None:
                    self.queue.add_after(key, after.total_seconds())
        self._seconds.observe(self._clock.monotonic() - started)

    def _failed(self, key: Key, outcome: str, error: Exception) -> None:
        PASSES.labels(self.name, outcome).inc()
        at_least = error.retry_after if isinstance(error, errors.ApiError) else 0
        delay = self.queue.retry(key, at_least=at_least)
        known = isinstance(error, errors.RuntimeFault)
        message = str(error) or type(error).__name__
        report = _log.debug if outcome == "conflict" else _log.warning
        report("pass failed", error=message, retry_in=round(delay, 2), exc_info=not known)
