"""One API server as a manager sees it: a client and one shared informer per kind.

Kinds with content that is large or secret are cached by their metadata only; the content of those
objects that somebody reads is fetched once per version and kept as long as it is current.
"""

import asyncio

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, Scope
from cobaltcore.runtime.sighting import Sighting
from cobaltcore.runtime.store import Change, version_of


class Cluster:
    """A named cluster: `control-plane`, `hypervisor`, … (the lab maps all of them to one)."""

    def __init__(self, client: Client, *, name: str = "local", clock: Clock | None = None) -> None:
        self.name = name
        self.client = client
        self._clock = clock or SystemClock()
        self._informers: dict[Kind, Informer] = {}
        self._contents: dict[tuple[Kind, Key], Object] = {}

    @property
    def informers(self) -> list[Informer]:
        """All informers asked for so far."""
        return list(self._informers.values())

    def informer(self, kind: Kind, scope: Scope = EVERYTHING) -> Informer:
        """The one cache of a kind; the first to ask decides what part of it is cached."""
        known = self._informers.get(kind)
        if known is not None and scope not in (EVERYTHING, known.scope):
            raise ValueError(f"{kind} is cached as {known.scope} already, not as {scope}")
        if known is None:
            known = Informer(self.client, kind, scope, cluster=self.name, clock=self._clock)
            self._informers[kind] = known
            if scope.metadata_only:
                known.on_change(lambda change: self._drop_outdated(kind, change))
        return known

    async def synced(self) -> None:
        """Return when every informer has the state of the server."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))

    async def read(self, kind: Kind, key: Key) -> Object | None:
        """The whole object or None; asks the server only for content that is not cached."""
        informer = self.informer(kind)
        known = informer.get(key)
        if known is None or not informer.scope.metadata_only:
            return known
        content = self._contents.get((kind, key))
        if content is not None and version_of(content) >= version_of(known):
            return content
        try:
            content = await self.client.get(kind, key)
        except errors.NotFound:
            return None
        self.observe(kind, content)
        return content

    def observe(self, kind: Kind, obj: Object) -> None:
        """Take in an answer of the server, ahead of the watch."""
        self.see(kind, Sighting.of(obj))

    def see(self, kind: Kind, seen: Sighting) -> None:
        """Take in a state of an object, ahead of the watch."""
        informer = self.informer(kind)
        if informer.scope.metadata_only:
            obj = self._contents[kind, seen.key] = seen.object
            seen = Sighting.of({name: obj[name] for name in ("apiVersion", "kind", "metadata")})
        informer.observe(seen)

    def _drop_outdated(self, kind: Kind, change: Change) -> None:
        content = self._contents.get((kind, change.key))
        if content is None:
            return
        if change.after is None or version_of(content) < change.after.version:
            del self._contents[kind, change.key]
