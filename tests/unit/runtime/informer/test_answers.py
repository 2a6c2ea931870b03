"""Answers to writes of ours reach the cache before the watch tells of them."""

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Any, cast

import pytest

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.informer import INITIAL_EVENTS_END, Informer
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.stream import WatchEvent


def an_object(version: int, name: str = "one") -> Object:
    meta = {"name": name, "namespace": "ns", "resourceVersion": str(version)}
    return {"metadata": meta, "data": {"version": str(version)}}


END = WatchEvent(
    "BOOKMARK",
    {"metadata": {"resourceVersion": "5", "annotations": {INITIAL_EVENTS_END: "true"}}},
)


class Server:
    """A watch that tells what the test says."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[WatchEvent] = asyncio.Queue()
        self.known: Collection[str] = ()

    async def watch(self, *_: object, **settings: Any) -> AsyncIterator[WatchEvent]:
        self.known = settings["known"]
        while True:
            yield await self.queue.get()

    def tell(self, *events: WatchEvent) -> None:
        for event in events:
            self.queue.put_nowait(event)


@pytest.fixture
async def server() -> Server:
    return Server()


@pytest.fixture
async def informer(server: Server) -> AsyncIterator[Informer]:
    made = Informer(cast("Client", server), CONFIG_MAP)
    running = asyncio.ensure_future(made.run())
    yield made
    running.cancel()
    await asyncio.wait({running})


async def test_their_versions_need_not_be_told_again(server: Server, informer: Informer) -> None:
    server.tell(END)
    await informer.synced.wait()
    informer.observe(an_object(7))
    assert set(server.known) == {"7"}

    server.tell(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "7"}}))
    server.tell(WatchEvent("MODIFIED", an_object(8)))
    while (found := informer.get(Key("ns", "one"))) is None or found["data"]["version"] != "8":
        await asyncio.sleep(0)
    assert not server.known


async def test_while_the_whole_state_is_told_every_object_of_it_is_seen(
    server: Server, informer: Informer
) -> None:
    while server.known == ():
        await asyncio.sleep(0)
    informer.observe(an_object(4))
    assert not server.known

    server.tell(WatchEvent("ADDED", an_object(4)), END)
    await informer.synced.wait()
    assert informer.get(Key("ns", "one")) is not None
