"""One API server as a manager sees it: a client and one shared informer per kind."""

import asyncio
from dataclasses import dataclass

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Kind


@dataclass(frozen=True, slots=True)
class Scope:
    """What part of a kind is cached: one namespace or all, objects with some labels or all."""

    namespace: str = ""
    selector: str = ""


EVERYTHING = Scope()


class Cluster:
    """A named cluster: `control-plane`, `hypervisor`, … (the lab maps all of them to one)."""

    def __init__(self, client: Client, *, name: str = "local", clock: Clock | None = None) -> None:
        self.name = name
        self.client = client
        self._clock = clock or SystemClock()
        self._informers: dict[Kind, Informer] = {}

    @property
    def informers(self) -> list[Informer]:
        """All informers asked for so far."""
        return list(self._informers.values())

    def informer(self, kind: Kind, scope: Scope = EVERYTHING) -> Informer:
        """The one cache of a kind; the first to ask decides what part of it is cached."""
        known = self._informers.get(kind)
        if known is None:
            known = self._informers[kind] = Informer(
                self.client,
                kind,
                namespace=scope.namespace,
                selector=scope.selector,
                cluster=self.name,
                clock=self._clock,
            )
        return known

    async def synced(self) -> None:
        """Return when every informer has the state of the server."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))
