"""Keep a store in sync with the API server, and call handlers for every change.

The current state comes as the first events of a watch (WatchList); a server without that is listed
in pages and watched from there. A lost watch resumes from the last version seen, bookmarks advance
that version, and 410 starts over without dropping the cache: objects deleted since are found by
comparing. A watch that is silent for longer than the interval of bookmarks is reopened. An object
that cannot be decoded, indexed or handled is skipped, with an error in the log and in the metrics.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from cobaltcore.runtime import errors, log
from cobaltcore.runtime.backoff import Backoff
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.faults import UNKNOWN, Faults
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, WatchScope
from cobaltcore.runtime.metrics import WATCH_RESTARTS, WATCH_SEEN
from cobaltcore.runtime.store import Change, IndexFunction, OwnStatusUpdate, Store
from cobaltcore.runtime.stream import EventType

T = TypeVar("T")
Handler = Callable[[Change], None]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
ABSENT_RETRY_SECONDS = 15
NEWEST = 2**63 - 1
# Errors that retries do not resolve: the first sync fails with them.
FATAL_AT_START = (errors.KindMissing, errors.Forbidden, errors.Unauthorized, errors.ConfigError)

_log = log.get("informer")


class Informer:
    """The shared cache of one kind."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        scope: WatchScope = EVERYTHING,
        *,
        cluster: str = "local",
        label: str = "",
        clock: Clock | None = None,
    ) -> None:
        self.kind = kind
        self.scope = scope
        self.synced = asyncio.Event()
        self._client = client
        self._clock = clock or SystemClock()
        label = label or str(kind)
        self.faults = Faults(label)
        """What is wrong with cached objects themselves."""
        self._unhandled = Faults(label)
        self._store = Store(self.faults)
        self._handlers: list[Handler] = []
        self._version = 0
        self._watch_list = True
        self._backoff = Backoff(first=0.1, longest=30)
        self._last_event = 0.0
        WATCH_SEEN.labels(cluster, label).set_function(lambda: self._last_event)
        self._restarts = WATCH_RESTARTS.labels(cluster, label)

    def on_change(self, handler: Handler) -> None:
        """Call `handler` for every change, and at once for everything already cached."""
        self._handlers.append(handler)
        self.replay(handler)

    def replay(self, handler: Handler) -> None:
        """Call `handler` for everything cached, as after a start."""
        for known in self._store.known():
            self._call([handler], Change(known.key, None, known, initial=True))

    def add_index(self, name: str, function: IndexFunction, *, spec_only: bool = False) -> None:
        """Index objects by the values that `function` returns.

        `spec_only`: the values depend on name and spec alone, so status updates do not change them.
        """
        self._store.add_index(name, function, spec_only=spec_only)

    def get(self, key: Key) -> Object | None:
        """The object of that name, or None. Not to be changed."""
        return self._store.get(key)

    def objects(self, namespace: str = "") -> list[Object]:
        """All cached objects, or those of one namespace. Not to be changed."""
        return self._store.objects(namespace)

    def find(self, index: str, value: str) -> list[Object]:
        """Cached objects by an index."""
        return self._store.find(index, value)

    def observe(self, state: CachedObject) -> None:
        """Cache the response to a write, ahead of the watch."""
        self._put(state)

    def observe_deletion(self, key: Key, *, version: int) -> None:
        """Drop an object that was deleted at `version`, ahead of the watch."""
        change = self._store.remove(key, version=version)
        if change is not None:
            self._notify(change)

    def own_status_update(self, key: Key, status: Mapping[str, Any]) -> OwnStatusUpdate:
        """A `with` block in which this process writes a status of an object."""
        return OwnStatusUpdate(self._store, key, status)

    async def run(self) -> None:
        """Watch until cancelled; raise only errors of the start that retries do not resolve."""
        while True:
            started = self._clock.monotonic()
            try:
                await self._list_and_watch()
            except errors.Gone:
                self._version = 0
            except errors.RuntimeFault as error:
                await self._handle_error(error)
            except Exception as error:  # noqa: BLE001 the other informers go on
                self.faults.record(UNKNOWN, "watch", error)
            else:
                if self._clock.monotonic() - started > 1:
                    self._backoff.forget(self.kind)
            self._restarts.inc()
            await self._clock.sleep(self._backoff.next(self.kind))

    async def _handle_error(self, error: errors.RuntimeFault) -> None:
        if isinstance(error, errors.KindMissing) and self.scope.optional:
            self._finish_sync(set())
            await self._clock.sleep(ABSENT_RETRY_SECONDS)
            return
        if isinstance(error, FATAL_AT_START) and not self.synced.is_set():
            raise error
        _log.warning("watch lost", kind=str(self.kind), error=error.message)

    async def _list_and_watch(self) -> None:
        if not self._version and not self._watch_list:
            await self._list()
        seen: set[Key] | None = set() if not self._version else None
        try:
            await self._watch(seen)
        except (errors.Invalid, errors.BadRequest):
            if seen is None or not self._watch_list:
                raise
            self._watch_list = False

    async def _watch(self, seen: set[Key] | None) -> None:
        """Handle events; while `seen` is a set they are the initial state, collected in it."""
        watch = self._client.watch(
            self.kind,
            self.scope,
            version=str(self._version or ""),
            initial=seen is not None,
            undecodable=self._record_undecodable,
        )
        async with aclosing(watch) as events:
            async for event in events:
                self._last_event = time.time()
                # At the start everything is reconciled; keeping the bytes would only use memory.
                decode = CachedObject.read if seen is None else CachedObject.decoded
                state = self._decoded(decode, event.object)
                if state is None:
                    continue
                if seen is None:
                    self._version = state.version
                    self._handle(event.type, state, initial=False)
                    continue
                if event.type != "BOOKMARK":
                    seen.add(state.key)
                    self._handle(event.type, state, initial=True)
                elif _ends_initial_events(state.object):
                    self._version = state.version
                    self._finish_sync(seen)
                    seen = None

    async def _list(self) -> None:
        seen: set[Key] = set()
        version = ""
        async for items, list_version in self._client.list_pages(self.kind, self.scope):
            version = version or list_version
            for obj in items:
                state = self._decoded(CachedObject.of, obj)
                if state is not None:
                    seen.add(state.key)
                    self._put(state, initial=True)
        self._version = int(version or 0)
        self._finish_sync(seen)

    def _finish_sync(self, seen: set[Key]) -> None:
        for change in self._store.retain(seen, version=self._version or NEWEST):
            self._notify(change)
        self._backoff.forget(self.kind)
        self.faults.resolve(UNKNOWN, "watch")
        self.synced.set()

    def _handle(self, event: EventType, state: CachedObject, *, initial: bool) -> None:
        if event == "BOOKMARK":
            return
        if event == "DELETED":
            change = self._store.remove(state.key, version=state.version)
            if change is not None:
                self._notify(change)
        else:
            self._put(state, initial=initial)

    def _put(self, state: CachedObject, *, initial: bool = False) -> None:
        change = self._store.put(state, initial=initial and not self.synced.is_set())
        if change is not None:
            self._notify(change)

    def _notify(self, change: Change) -> None:
        self._call(self._handlers, change)

    def _call(self, handlers: Iterable[Handler], change: Change) -> None:
        for handler in handlers:
            try:
                handler(change)
            except Exception as error:  # noqa: BLE001 the other handlers are called
                self._unhandled.record(change.key, "handler", error)
        if change.after is None:
            self._unhandled.forget(change.key)

    def _decoded(self, decode: Callable[[T], CachedObject], source: T) -> CachedObject | None:
        try:
            return decode(source)
        except Exception as error:  # noqa: BLE001 any error is of this object alone
            self._record_undecodable(error)
            return None

    def _record_undecodable(self, error: Exception) -> None:
        self.faults.record(UNKNOWN, "decode", error)


def _ends_initial_events(bookmark: Object) -> bool:
    annotations = bookmark["metadata"].get("annotations") or {}
    return annotations.get(INITIAL_EVENTS_END) == "true"
