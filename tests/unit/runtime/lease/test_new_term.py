"""Work that was scheduled when the lease was lost is done by the next leader."""

import asyncio
from datetime import timedelta

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.lease import Election
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Kind
from tests.support.fake_clock import FakeClock
from tests.support.memory_server import MemoryServer

WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")


async def test_keys_scheduled_before_the_lease_was_lost_are_reconciled_in_the_next_term() -> None:
    names = ("failed", "rotated", "settled")
    server = MemoryServer(
        *(
            {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(number)}}
            for number, name in enumerate(names, 1)
        )
    )
    clock = FakeClock()
    client = Client(server, clock=clock)
    reconciled: list[str] = []

    async def reconcile(key: Key) -> timedelta | None:
        reconciled.append(key.name)
        if key.name == "failed":
            raise ValueError("retried later")
        return timedelta(minutes=30) if key.name == "rotated" else None

    manager = Manager(
        {"local": Cluster(client, clock=clock)},
        [Controller("test", reconcile, [Source(WIDGET, itself)], clock=clock)],
        election=Election(client, Key("ns", "operator"), identity="one", clock=clock),
    )
    running = asyncio.ensure_future(manager.run())
    await asyncio.wait_for(manager.ready.wait(), 10)
    await clock.advance(0)
    assert {*reconciled} == {*names}
    server.away = True
    await clock.advance(60)
    assert not manager.leading
    reconciled.clear()
    server.away = False
    await clock.advance(10)
    assert {*reconciled} == {*names}
    running.cancel()
    await asyncio.wait({running})
