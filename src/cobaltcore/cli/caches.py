"""The caches of all operators, filled for one command: it sees what they see, and decides as they do."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.desired.names import PART_OF
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Kind

LABELS = {"app.kubernetes.io/part-of": PART_OF}


@dataclass(frozen=True, slots=True)
class Caches:
    """A cluster as operators see it."""

    cluster: Cluster
    reconcilers: dict[Kind, Reconciler[Any]]
    """By the kind that they work on."""
    unserved: frozenset[Kind]
    """Kinds that operators know and the API server does not serve."""
    required: frozenset[Kind]
    """Those of them without which operators do not start."""

    @property
    def kinds(self) -> list[Kind]:
        """All kinds that are cached."""
        return list(dict.fromkeys(informer.kind for informer in self.cluster.informers))


@asynccontextmanager
async def filled(
    client: Client, *, make: type[Reconciler[Any]] = Reconciler, frozen: bool = False
) -> AsyncIterator[Caches]:
    """Fill the caches, and keep them current within the block unless they are frozen."""
    cluster = Cluster(client, content_labels=LABELS)
    context = Context(cluster, "cobalt")
    reconcilers = [
        make(planner, context) for each in registry.operators() for planner in each.planners
    ]
    for each in reconcilers:
        for source in each.controller.sources:
            cluster.informer(source.kind, source.scope)
    informers = cluster.informers
    absent = await unserved(client, {each.kind for each in informers})
    required = {each.kind for each in informers if not each.scope.optional} & absent
    kinds = {each.kind: each for each in reconcilers}
    found = Caches(cluster, kinds, frozenset(absent), frozenset(required))
    served = [each for each in informers if each.kind not in absent]
    if not frozen:
        async with _running(served):
            yield found
        return
    async with _running(served):
        pass
    yield found


async def unserved(client: Client, kinds: Collection[Kind]) -> set[Kind]:
    """Those kinds that the API server does not serve."""
    versions = sorted({each.api_version for each in kinds})
    served = dict(
        zip(versions, await asyncio.gather(*(_served(client, v) for v in versions)), strict=True)
    )
    return {each for each in kinds if each.plural not in served[each.api_version]}


async def _served(client: Client, version: str) -> set[str]:
    try:
        answer = await client.raw(f"/apis/{version}" if "/" in version else f"/api/{version}")
    except errors.NotFound:
        return set()
    return {each["name"] for each in msgspec.json.decode(answer)["resources"]}


@asynccontextmanager
async def _running(informers: Iterable[Informer]) -> AsyncIterator[None]:
    """Run informers; raise what keeps one of them from its first state."""
    informers = list(informers)
    running: list[asyncio.Future[Any]] = [asyncio.ensure_future(i.run()) for i in informers]
    synced: asyncio.Future[Any] = asyncio.gather(*(each.synced.wait() for each in informers))
    try:
        await asyncio.wait({synced, *running}, return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            if task.done():
                task.result()
        yield
    finally:
        for task in (synced, *running):
            task.cancel()
        await asyncio.wait({synced, *running})
