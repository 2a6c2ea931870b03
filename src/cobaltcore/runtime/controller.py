"""From changes to reconciles: sources map a change to keys, workers reconcile the keys.

A reconcile gets a key, reads the caches and brings the cluster to the desired state. It returns
after what time to reconcile again (None: when something changes), or raises: then the key is
retried with back-off.
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
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, WatchScope
from cobaltcore.runtime.metrics import QUEUE_DEPTH, RECONCILE_SECONDS, RECONCILES
from cobaltcore.runtime.queue import Queue
from cobaltcore.runtime.store import Change

Reconcile = Callable[[Key], Awaitable[timedelta | None]]
KeysOf = Callable[[Change], Iterable[Key]]
Failed = Callable[[Key, Exception, int], Awaitable[None]]
"""Reports a failed reconcile: key, cause, failures in a row."""

RECONCILE_TIMEOUT = timedelta(minutes=5)

_log = log.get("controller")


@dataclass(frozen=True, slots=True)
class Source:
    """A kind that a controller watches, and the keys to reconcile after a change."""

    kind: Kind
    keys: KeysOf
    scope: WatchScope = EVERYTHING
    cluster: str = "local"


def itself(change: Change) -> Iterable[Key]:
    """Reconcile the changed object."""
    return (change.key,)


def unless_own_status_update(change: Change) -> Iterable[Key]:
    """Reconcile the changed object, except after a status update of this process.

    For controllers that do not read their own status: saves a reconcile per status update.
    """
    return () if change.own_status_update else (change.key,)


def owner(kind: Kind) -> KeysOf:
    """Reconcile the owners of the changed object that are of `kind`."""

    def keys(change: Change) -> Iterable[Key]:
        references = change.latest["metadata"].get("ownerReferences") or ()
        for reference in references:
            group = reference["apiVersion"].rpartition("/")[0]
            if reference["kind"] == kind.kind and group == kind.group:
                namespace = change.key.namespace if kind.namespaced else ""
                yield Key(namespace, reference["name"])

    return keys


def referrers(cluster: Cluster, kind: Kind, index: str) -> KeysOf:
    """Reconcile objects of `kind` that refer to the changed object according to `index`."""

    def keys(change: Change) -> Iterable[Key]:
        for obj in cluster.informer(kind).find(index, str(change.key)):
            yield Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])

    return keys


class Controller:
    """A queue and the workers on it."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        sources: Iterable[Source],
        *,
        workers: int = 4,
        clock: Clock | None = None,
        failed: Failed | None = None,
    ) -> None:
        self.name = name
        self.sources = tuple(sources)
        self._reconcile = reconcile
        self._workers = workers
        self._clock = clock or SystemClock()
        self._report = failed
        self.queue: Queue[Key] = Queue(clock=self._clock)
        self._stopping = False
        QUEUE_DEPTH.labels(name).set_function(partial(len, self.queue))
        self._done = RECONCILES.labels(name, "done")
        self._seconds = RECONCILE_SECONDS.labels(name)

    def enqueue(self, source: Source, change: Change) -> None:
        """Add the keys that a change concerns to the queue."""
        for key in source.keys(change):
            self.queue.add(key, initial=change.initial)

    async def run(self) -> None:
        """Reconcile until cancelled or stopped."""
        self._stopping = False
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self.queue.close()

    def stop(self) -> None:
        """Finish running reconciles and start no new ones."""
        self._stopping = True
        self.queue.wake_all()

    async def _work(self) -> None:
        limit = Limit(RECONCILE_TIMEOUT.total_seconds())
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
            await self._reconcile_once(key, limit)
        except asyncio.CancelledError:
            # Another worker may finish it: the key must not be lost with this worker.
            self.queue.add(key)
            raise
        finally:
            self.queue.done(key)

    async def _reconcile_once(self, key: Key, limit: Limit) -> None:
        started = self._clock.monotonic()
        with log.Context(controller=self.name, key=key):
            try:
                with limit:
                    after = await self._reconcile(key)
            except errors.Conflict as conflict:
                await self._failed(key, "conflict", conflict)
            except Exception as error:  # noqa: BLE001 any failure is logged and retried
                await self._failed(key, "error", error)
            else:
                self._done.inc()
                self.queue.forget(key)
                if after is not None:
                    self.queue.add_after(key, after.total_seconds())
        self._seconds.observe(self._clock.monotonic() - started)

    async def _failed(self, key: Key, outcome: str, error: Exception) -> None:
        RECONCILES.labels(self.name, outcome).inc()
        at_least = error.retry_after if isinstance(error, errors.ApiError) else 0
        delay = self.queue.retry(key, at_least=at_least)
        known = isinstance(error, errors.RuntimeFault)
        message = str(error) or type(error).__name__
        log_message = _log.debug if outcome == "conflict" else _log.warning
        log_message(
            "reconcile failed", error=message, retry_in=round(delay, 2), exc_info=not known
        )
        if self._report is None:
            return
        try:
            await self._report(key, error, self.queue.failures(key))
        except Exception as fault:  # noqa: BLE001 the worker continues with other keys
            known = isinstance(fault, errors.RuntimeFault)
            _log.warning(
                "failure not reported on the object", error=str(fault), exc_info=not known
            )
