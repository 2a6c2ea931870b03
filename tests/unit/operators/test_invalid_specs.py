"""A stored object that the types of this version refuse is reported, by every planner."""

import asyncio
from typing import Any

import pytest

from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.runtime import conditions
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Object
from tests.support.memory_server import MemoryServer

PLANNERS = {planner.name: planner for each in registry.operators() for planner in each.planners}


def an_object(planner: Planner[Any], name: str, spec: object) -> Object:
    finalizers = [planner.finalizer] if planner.finalizer else []
    metadata = {
        "name": name,
        "uid": name,
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": finalizers,
        "labels": {"app.kubernetes.io/name": "c5c3"},
    }
    if planner.kind.namespaced:
        metadata["namespace"] = "ns"
    return {
        "apiVersion": planner.kind.api_version,
        "kind": planner.kind.kind,
        "metadata": metadata,
        "spec": spec,
    }


@pytest.mark.parametrize("name", PLANNERS)
async def test_object_with_an_invalid_spec_is_reported_and_the_controller_continues(
    name: str,
) -> None:
    server = MemoryServer()
    cluster = Cluster(Client(server))
    planner = PLANNERS[name]
    reconciler = Reconciler(planner, Context(cluster, "test"))
    informer = cluster.informer(planner.kind)
    for number, spec in enumerate(("\u00a0", [], 7)):
        state = CachedObject.of(an_object(planner, f"odd-{number}", spec))
        informer.observe(state)
        reconciler.controller.queue.add(state.key)
    running = asyncio.ensure_future(reconciler.controller.run())
    async with asyncio.timeout(30):
        while len({each["metadata"]["name"] for each in server.statuses}) < 3:
            await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    await asyncio.wait({running})
    for each in server.statuses:
        ready = conditions.find(conditions.of(each), "Ready")
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "SpecInvalid"), ready.message
