"""What an index makes of an object is reported on the object."""

import asyncio
from collections.abc import Iterator
from typing import Any

from cobaltcore.engine.context import Context
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime import conditions
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, key_of
from tests.support import planning
from tests.support.memory_server import MemoryServer


class Planner(ServicePlanner):
    """Cannot say what an object refers to."""

    def references(self, key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
        raise KeyError(key.name)


async def test_object_that_cannot_be_indexed_reports_why() -> None:
    server = MemoryServer()
    cluster = Cluster(Client(server))
    planner = Planner(planning.service("Placement"))
    reconciler = Reconciler(planner, Context(cluster, "test"))
    placement = planning.an_object("Placement")
    placement["metadata"]["resourceVersion"] = "1"
    key = key_of(placement)
    cluster.informer(planner.kind).observe(CachedObject.of(placement))
    reconciler.controller.queue.add(key)
    running = asyncio.ensure_future(reconciler.controller.run())
    async with asyncio.timeout(10):
        while not server.statuses:
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running})
    ready = conditions.find(conditions.of(server.statuses[-1]), "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "ReconcileFailed")
    assert "index 'references' of the object failed with KeyError" in ready.message
