"""An object that is being deleted goes, whatever spec is stored: another release may have accepted it."""

from typing import Any

import pytest

from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import key_of
from tests.support.memory_server import MemoryServer

PLANNERS = [
    planner
    for operator in registry.operators()
    for planner in operator.planners
    if planner.finalizer
]


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: planner.name)
async def test_spec_that_does_not_decode_is_no_obstacle(planner: Planner[Any]) -> None:
    server = MemoryServer()
    cluster = Cluster(Client(server))
    reconciler = Reconciler(planner, Context(cluster, "test"))
    meta = {
        "name": "old",
        "namespace": "openstack",
        "uid": "some-uid",
        "resourceVersion": "1",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "finalizers": [planner.finalizer],
    }
    live = {
        "apiVersion": planner.kind.api_version,
        "kind": planner.kind.kind,
        "metadata": meta,
        "spec": {"global": 7, "targetServiceUser": [], "northbound": "many"},
        "status": {"phase": 7},
    }
    cluster.informer(planner.kind).observe(CachedObject.of(live))
    await reconciler.reconcile(key_of(live))
    path = f"/namespaces/openstack/{planner.kind.plural}/old"
    assert [each for each in server.writes if each.partition("?")[0].endswith(path)], "released"
    assert server.statuses == [], "it is not rejected"
