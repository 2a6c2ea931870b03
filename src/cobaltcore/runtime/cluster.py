"""One API server as a manager sees it: a client and one shared informer per kind.

Kinds whose content is large or secret are cached by their metadata only, see `contents`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from cobaltcore.runtime import contents, errors
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.contents import Contents
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, WatchScope
from cobaltcore.runtime.store import version_of


class Cluster:
    """A named cluster: `control-plane`, `hypervisor`, … (the lab maps all of them to one)."""

    def __init__(
        self,
        client: Client,
        *,
        name: str = "local",
        content_labels: Mapping[str, str] | None = None,
        namespace: str = "",
        clock: Clock | None = None,
    ) -> None:
        """A cluster, or with `namespace` what this one namespace of it has."""
        self.name = name
        self._namespace = namespace
        self.client = client
        self._content_labels = content_labels or {}
        self._clock = clock or SystemClock()
        self._informers: dict[Kind, Informer] = {}
        self._contents: dict[Kind, Contents] = {}

    @property
    def informers(self) -> list[Informer]:
        """All informers requested so far."""
        watched = (each.watched for each in self._contents.values())
        return [*self._informers.values(), *(each for each in watched if each is not None)]

    def informer(self, kind: Kind, scope: WatchScope = EVERYTHING) -> Informer:
        """The one cache of a kind; the first request decides what part of it is cached."""
        known = self._informers.get(kind)
        anything, scope = self._bounded(kind, EVERYTHING), self._bounded(kind, scope)
        if known is not None and scope not in (anything, known.scope):
            raise ValueError(f"{kind} is cached as {known.scope} already, not as {scope}")
        if known is None:
            known = Informer(self.client, kind, scope, cluster=self.name, clock=self._clock)
            self._informers[kind] = known
            if scope.metadata_only:
                self._contents[kind] = contents.watch(
                    self.client,
                    kind,
                    scope,
                    self._content_labels,
                    cluster=self.name,
                    clock=self._clock,
                )
                known.on_change(self._contents[kind].drop_outdated)
        return known

    def _bounded(self, kind: Kind, scope: WatchScope) -> WatchScope:
        """The part of a scope that may be read: an account may have no rights elsewhere."""
        return (
            replace(scope, namespace=self._namespace)
            if self._namespace and kind.namespaced
            else scope
        )

    async def synced(self) -> None:
        """Return when every informer has the state of the server."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))

    async def read(self, kind: Kind, key: Key) -> Object | None:
        """The whole object or None; sends a request only for content that is not cached."""
        informer = self.informer(kind)
        known = informer.get(key)
        if known is None or kind not in self._contents:
            return known
        content = self._contents[kind].get(key, version=version_of(known))
        if content is not None:
            return content
        try:
            content = await self.client.get(kind, key)
        except errors.NotFound:
            return None
        self.observe(kind, content)
        return content

    def observe(self, kind: Kind, obj: Object) -> None:
        """Cache a response of the server, ahead of the watch."""
        self.observe_cached(kind, CachedObject.of(obj))

    def observe_deletion(self, kind: Kind, key: Key, *, version: int) -> None:
        """Drop an object that was deleted at `version`, ahead of the watch."""
        for informer in self.informers:
            if informer.kind == kind:
                informer.observe_deletion(key, version=version)

    def observe_cached(self, kind: Kind, state: CachedObject) -> None:
        """As `observe`, for a version that may not be decoded yet."""
        informer = self.informer(kind)
        if kind in self._contents:
            self._contents[kind].put(state)
            obj = state.object
            state = CachedObject.of(
                {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
            )
        informer.observe(state)
