"""Keep a store equal to what the API server holds, and tell others of every change.

The present state comes as the first events of a watch (WatchList); a server without that is listed
in pages and watched from there. A lost watch goes on from the last version seen, bookmarks move
that version along, and 410 starts over without forgetting: objects that vanished meanwhile are
found by comparing. A watch that is silent for longer than bookmarks allow is opened again.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any

from cobaltcore.runtime import errors, log
from cobaltcore.runtime.backoff import Backoff
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.metrics import WATCH_RESTARTS, WATCH_SEEN
from cobaltcore.runtime.sighting import Sighting
from cobaltcore.runtime.store import Change, IndexFunction, Store, Telling
from cobaltcore.runtime.stream import EventType

Handler = Callable[[Change], None]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
ABSENT_RETRY_SECONDS = 15
NEWEST = 2**63 - 1
# Errors that will not go away by waiting: the first synchronisation fails with them.
FATAL_AT_START = (errors.KindMissing, errors.Forbidden, errors.Unauthorized, errors.ConfigError)

_log = log.get("informer")


class Informer:
    """The shared cache of one kind."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        scope: Scope = EVERYTHING,
        *,
        cluster: str = "local",
        clock: Clock | None = None,
    ) -> None:
        self.kind = kind
        self.scope = scope
        self.synced = asyncio.Event()
        self._client = client
        self._clock = clock or SystemClock()
        self._store = Store()
        self._handlers: list[Handler] = []
        self._version = 0
        self._watch_list = True
        self._backoff = Backoff(first=0.1, longest=30)
        self._heard = 0.0
        WATCH_SEEN.labels(cluster, str(kind)).set_function(lambda: self._heard)
        self._restarts = WATCH_RESTARTS.labels(cluster, str(kind))

    def on_change(self, handler: Handler) -> None:
        """Call `handler` for every change, and at once for everything already known."""
        self._handlers.append(handler)
        for known in self._store.known():
            handler(Change(known.key, None, known, initial=True))

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep objects findable by the values that `function` tells of them."""
        self._store.add_index(name, function)

    def get(self, key: Key) -> Object | None:
        """The object of that name, or None. Not to be changed."""
        return self._store.get(key)

    def objects(self, namespace: str = "") -> list[Object]:
        """All cached objects, or those of one namespace. Not to be changed."""
        return self._store.objects(namespace)

    def find(self, index: str, value: str) -> list[Object]:
        """Cached objects by an index."""
        return self._store.find(index, value)

    def observe(self, seen: Sighting) -> None:
        """Take in the answer to a write of ours, ahead of the watch."""
        self._put(seen)

    def telling(self, key: Key, status: Mapping[str, Any]) -> Telling:
        """While we write this status of an object, its coming back is no news."""
        return Telling(self._store, key, status)

    async def run(self) -> None:
        """Follow the server until cancelled; raise only what waiting cannot cure at the start."""
        while True:
            started = self._clock.monotonic()
            try:
                await self._follow()
            except errors.Gone:
                self._version = 0
            except errors.RuntimeFault as error:
                await self._get_over(error)
            else:
                if self._clock.monotonic() - started > 1:
                    self._backoff.forget(self.kind)
            self._restarts.inc()
            await self._clock.sleep(self._backoff.next(self.kind))

    async def _get_over(self, error: errors.RuntimeFault) -> None:
        if isinstance(error, errors.KindMissing) and self.scope.optional:
            self._finish(set())
            await self._clock.sleep(ABSENT_RETRY_SECONDS)
            return
        if isinstance(error, FATAL_AT_START) and not self.synced.is_set():
            raise error
        self._explain(error)

    def _explain(self, error: errors.RuntimeFault) -> None:
        _log.warning("watch lost", kind=str(self.kind), error=error.message)

    async def _follow(self) -> None:
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
        """Handle events; while `seen` is a set they are the initial state, gathered in it."""
        watch = self._client.watch(
            self.kind, self.scope, version=str(self._version or ""), initial=seen is not None
        )
        async with aclosing(watch) as events:
            async for event in events:
                self._heard = time.time()
                if seen is None:
                    state = Sighting.read(event.object)
                    self._version = state.version
                    self._take(event.type, state, initial=False)
                    continue
                # At a start everything is looked at; bytes that wait for it only take memory.
                state = Sighting.decoded(event.object)
                if event.type != "BOOKMARK":
                    seen.add(state.key)
                    self._take(event.type, state, initial=True)
                elif _ends_initial_events(state.object):
                    self._version = state.version
                    self._finish(seen)
                    seen = None

    async def _list(self) -> None:
        seen: set[Key] = set()
        version = ""
        async for items, list_version in self._client.list_pages(self.kind, self.scope):
            version = version or list_version
            for obj in items:
                seen.add(key_of(obj))
                self._put(Sighting.of(obj), initial=True)
        self._version = int(version or 0)
        self._finish(seen)

    def _finish(self, seen: set[Key]) -> None:
        for change in self._store.retain(seen, version=self._version or NEWEST):
            self._tell(change)
        self._backoff.forget(self.kind)
        self.synced.set()

    def _take(self, happened: EventType, state: Sighting, *, initial: bool) -> None:
        if happened == "BOOKMARK":
            return
        if happened == "DELETED":
            change = self._store.remove(state.key, version=state.version)
            if change is not None:
                self._tell(change)
        else:
            self._put(state, initial=initial)

    def _put(self, state: Sighting, *, initial: bool = False) -> None:
        change = self._store.put(state, initial=initial and not self.synced.is_set())
        if change is not None:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            handler(change)


def _ends_initial_events(bookmark: Object) -> bool:
    annotations = bookmark["metadata"].get("annotations") or {}
    return annotations.get(INITIAL_EVENTS_END) == "true"
