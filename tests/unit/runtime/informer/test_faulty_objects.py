"""An object that breaks a decoder, an index or a handler is alone with that."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.metrics import REGISTRY
from cobaltcore.runtime.store import Change
from tests.support.memory_server import MemoryServer

WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")
BAD = Key("ns", "bad")
DEEP = b'{"a":' * 5000 + b"1" + b"}" * 5000


def a_widget(name: str, version: int, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": spec}


def raw_widget(name: str, version: int, spec: bytes) -> bytes:
    metadata = f'{{"name":"{name}","namespace":"ns","resourceVersion":"{version}"}}'
    return b'{"metadata":' + metadata.encode() + b',"spec":' + spec + b"}"


def by_size(obj: Object) -> Iterable[str]:
    yield "any"
    yield obj["spec"]["size"]


def counted(label: str, step: str) -> float:
    labels = {"kind": label, "step": step}
    return REGISTRY.get_sample_value("cobalt_object_errors_total", labels) or 0


@asynccontextmanager
async def synced(informer: Informer) -> AsyncIterator[None]:
    running = asyncio.ensure_future(informer.run())
    synced = asyncio.ensure_future(informer.synced.wait())
    await asyncio.wait({running, synced}, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    assert synced.done()
    yield
    assert not running.done()
    running.cancel()
    await asyncio.wait({running})


def names(objects: Iterable[Object]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in objects)


async def test_object_that_an_index_cannot_handle_is_not_in_it_until_it_is_corrected() -> None:
    server = MemoryServer(a_widget("bad", 1), a_widget("good", 2, size="small"))
    informer = Informer(Client(server), WIDGET, label="indexed")
    informer.add_index("size", by_size)
    with capture_logs() as logs:
        async with synced(informer):
            informer.observe(CachedObject.of(a_widget("bad", 3)))
            assert names(informer.objects()) == ["bad", "good"]
            assert names(informer.find("size", "any")) == ["good"]
            fault = informer.faults.of(BAD)
            assert fault is not None
            assert fault.message == "index 'size' of the object failed with KeyError: 'size'"
            informer.observe(CachedObject.of(a_widget("bad", 4, size="small")))
            assert names(informer.find("size", "small")) == ["bad", "good"]
            assert informer.faults.of(BAD) is None
    assert [each["key"] for each in logs if each["event"] == "object skipped"] == ["ns/bad"]
    assert counted("indexed", "index 'size'") == 2


async def test_corrected_status_is_indexed_even_by_an_index_of_the_spec() -> None:
    def spec(obj: Object) -> Iterable[str]:
        return (obj["status"]["seen"],)

    informer = Informer(Client(MemoryServer()), WIDGET, label="spec")
    informer.add_index("seen", spec, spec_only=True)
    for version, status in enumerate(({}, {"seen": "yes"}), 1):
        widget = {**a_widget("bad", version), "status": status}
        widget["metadata"] |= {"generation": 1, "uid": "u"}
        informer.observe(CachedObject.of(widget))
    assert names(informer.find("seen", "yes")) == ["bad"]
    assert informer.faults.of(BAD) is None


async def test_handler_that_raises_keeps_nothing_from_the_others() -> None:
    def raising(change: Change) -> None:
        raise RuntimeError(change.key.name)

    seen: list[str] = []
    server = MemoryServer(a_widget("bad", 1), a_widget("good", 2))
    informer = Informer(Client(server), WIDGET, label="handled")
    informer.on_change(raising)
    informer.on_change(lambda change: seen.append(change.key.name))
    async with synced(informer):
        assert seen == ["bad", "good"]
        informer.replay(raising)
    assert counted("handled", "handler") == 4


async def test_object_nested_too_deeply_is_left_out() -> None:
    server = MemoryServer(raw_widget("bad", 1, DEEP), a_widget("good", 2))
    informer = Informer(Client(server), WIDGET, label="deep")
    async with synced(informer):
        assert names(informer.objects()) == ["good"]
    assert counted("deep", "decode") == 1


@pytest.mark.parametrize("read", [CachedObject.read, CachedObject.decoded])
async def test_object_with_a_number_out_of_range_has_only_metadata(read: Any) -> None:
    informer = Informer(Client(MemoryServer()), WIDGET)
    informer.observe(read(raw_widget("bad", 7, b'{"size":1e999}')))
    found = informer.get(BAD)
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "7"
    assert "spec" not in found
