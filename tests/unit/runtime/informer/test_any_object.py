"""Whatever objects contain, caches and queues take them in."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself, owner
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.support.memory_server import MemoryServer

OWNER = Kind("tests.c5c3.io", "v1", "Owner", "owners")
WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")
NAMED = (
    "name", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
    "deletionTimestamp", "generation", "uid", "apiVersion", "kind", "conditions", "size",
)  # fmt: skip

names = st.sampled_from(NAMED) | st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
metadata = st.dictionaries(names, values)
objects = st.fixed_dictionaries({"metadata": metadata, "spec": values, "status": values})


def _size(obj: Object) -> list[str]:
    size: list[str] = [obj["spec"]["size"], obj["status"]["conditions"][0]["kind"]]
    return size


async def _reconcile(key: Key) -> None:
    raise AssertionError(key)


async def _fed(*found: Object) -> set[Key]:
    """The keys that are enqueued when a watch starts with these objects."""
    cluster = Cluster(Client(MemoryServer(*found)))
    informer = cluster.informer(WIDGET)
    informer.add_index("size", _size)
    sources = [Source(WIDGET, owner(OWNER)), Source(WIDGET, itself)]
    controller = Controller("any", _reconcile, sources)
    Manager({"local": cluster}, [controller])
    running = asyncio.ensure_future(informer.run())
    await asyncio.wait_for(informer.synced.wait(), 10)
    running.cancel()
    await asyncio.wait({running})
    keys = {await controller.queue.get() for _ in range(len(controller.queue))}
    return {key for key in keys if key is not None}


@settings(max_examples=50, deadline=None)
@given(st.lists(objects, min_size=1, max_size=4))
def test_every_other_object_is_enqueued(found: list[dict[str, Any]]) -> None:
    reference = {"apiVersion": "tests.c5c3.io/v1", "kind": "Owner", "name": "owner", "uid": "u"}
    odd = [
        {**each, "metadata": {**each["metadata"], **_identity("odd", version)}}
        for version, each in enumerate(found, 1)
    ]
    good = {"metadata": {**_identity("good", 9), "ownerReferences": [reference]}}
    with capture_logs():
        keys = asyncio.run(_fed(*odd, good))
    assert {Key("ns", "good"), Key("ns", "owner")} <= keys


def _identity(name: str, version: int) -> Object:
    return {"name": name, "namespace": "ns", "resourceVersion": str(version)}
