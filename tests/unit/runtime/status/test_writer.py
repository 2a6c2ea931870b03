from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.queue import Queue
from cobaltcore.runtime.status import LONGEST_DEFERRAL, Writer
from cobaltcore.runtime.transport import Request, Response, Socket
from tests.support.fake_clock import FakeClock

WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")
KEY = Key("ns", "w")


class StatusServer:
    """Stores the status of one Widget."""

    def __init__(self) -> None:
        self.status: Object = {}
        self.writes = 0

    async def send(self, request: Request) -> Response:
        self.status = msgspec.json.decode(request.body)["status"]
        self.writes += 1
        return Response(200, msgspec.json.encode(self.widget()))

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError

    def websocket(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        raise NotImplementedError

    async def close(self) -> None:
        return

    def widget(self) -> Object:
        metadata = {"name": "w", "namespace": "ns", "resourceVersion": str(self.writes + 1)}
        return {
            "apiVersion": WIDGET.api_version,
            "kind": "Widget",
            "metadata": {**metadata, "uid": "u", "generation": 1},
            "status": self.status,
        }


class Fixture:
    """A writer whose key is dirty or not as the test sets it."""

    def __init__(self) -> None:
        self.dirty = False
        self.clock = FakeClock()
        self.server = StatusServer()
        self.cluster = Cluster(Client(self.server))
        self.cluster.informer(WIDGET).observe(CachedObject.of(self.server.widget()))
        self.writer = Writer(
            self.cluster,
            WIDGET,
            manager="test",
            is_dirty=lambda key: self.dirty,
            clock=self.clock,
        )

    async def write(self, ready: str, message: str) -> bool:
        live = self.cluster.informer(WIDGET).get(KEY)
        assert live is not None
        return await self.writer.write(live, a_status(ready, message))


def a_status(ready: str, message: str) -> Object:
    return {"conditions": [{"type": "Ready", "status": ready, "message": message}]}


@pytest.fixture
async def widget() -> Fixture:
    """A Widget that has reported 1/3."""
    fixture = Fixture()
    assert await fixture.write("False", "1/3")
    return fixture


async def test_a_status_is_written_if_no_reconcile_follows(widget: Fixture) -> None:
    assert await widget.write("False", "2/3")
    assert widget.server.status == a_status("False", "2/3")


async def test_a_status_is_deferred_if_a_reconcile_follows(widget: Fixture) -> None:
    widget.dirty = True
    assert not await widget.write("False", "2/3")
    widget.dirty = False
    assert await widget.write("False", "3/3")
    assert widget.server.status == a_status("False", "3/3")
    assert widget.server.writes == 2


async def test_a_change_of_ready_is_always_written(widget: Fixture) -> None:
    widget.dirty = True
    for ready in ("True", "False", "Unknown"):
        assert await widget.write(ready, "")


async def test_the_first_status_is_always_written() -> None:
    fixture = Fixture()
    fixture.dirty = True
    assert await fixture.write("False", "")


async def test_a_key_that_is_always_dirty_reports_now_and_then(widget: Fixture) -> None:
    widget.dirty = True
    reported = []
    for second in range(10):
        reported.append(await widget.write("False", f"after {second} s"))
        await widget.clock.advance(1)
    deferred = LONGEST_DEFERRAL // timedelta(seconds=1)
    assert reported == ([False] * deferred + [True]) * 3 + [False]


@given(changes=st.lists(st.tuples(st.sampled_from(["before", "within"]), st.booleans())))
async def test_the_last_status_is_written_when_the_queue_is_empty(
    changes: Iterable[tuple[str, bool]],
) -> None:
    fixture = Fixture()
    queue: Queue[Key] = Queue(clock=fixture.clock)
    fixture.writer._is_dirty = queue.is_dirty
    pending = list(changes)
    state, ready = 0, False
    queue.add(KEY)
    while not queue.idle:
        await fixture.clock.advance(1)
        key = await queue.get(unless=lambda: True)
        if key is None:
            continue
        live_state = (state, ready)
        if pending:
            when, ready = pending.pop()
            state += 1
            if when == "before":
                live_state = (state, ready)
            queue.add(key)
        await fixture.write(str(live_state[1]), str(live_state[0]))
        queue.done(key)
    assert fixture.server.status == a_status(str(ready), str(state))
