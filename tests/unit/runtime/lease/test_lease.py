"""One leader at a time, whatever happens to the process or the API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from cobaltcore.runtime import errors, fence
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.lease import Election, Timing
from cobaltcore.runtime.meta import Key, Kind
from tests.support.fake_clock import FakeClock, settle
from tests.support.memory_server import MemoryServer

WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")
LEASE = Key("ns", "operator")
TIMING = Timing()
DEADLINE = TIMING.renew_deadline.total_seconds()


class Replica:
    """A candidate whose work writes a Widget whenever the test asks for it."""

    def __init__(self, server: MemoryServer, clock: FakeClock) -> None:
        self.client = Client(server, clock=clock)
        self.election = Election(self.client, LEASE, identity="one", clock=clock)
        self.write = asyncio.Event()
        self._tasks = 0
        self.refused: list[errors.LeaseExpired] = []

    async def work(self) -> None:
        self._tasks += 1
        try:
            while True:
                await self.write.wait()
                self.write.clear()
                # As a reconcile: a task of its own.
                await asyncio.ensure_future(self._write())
        finally:
            self._tasks -= 1

    def works(self) -> bool:
        return self._tasks > 0

    async def _write(self) -> None:
        widget = {"metadata": {"name": "w", "namespace": "ns"}}
        try:
            await self.client.apply(WIDGET, widget, manager="test")
        except errors.LeaseExpired as expired:
            self.refused.append(expired)


@asynccontextmanager
async def leading(server: MemoryServer, clock: FakeClock) -> AsyncIterator[Replica]:
    replica = Replica(server, clock)
    task = asyncio.ensure_future(replica.election.lead(replica.work))
    await clock.advance(0)
    assert server.holder == "one"
    assert replica.works()
    yield replica
    task.cancel()
    await asyncio.wait({task})


async def test_leader_that_renews_keeps_working() -> None:
    server, clock = MemoryServer(), FakeClock()
    async with leading(server, clock) as replica:
        await clock.advance(10 * DEADLINE)
        assert replica.works()
        replica.write.set()
        await settle()
        assert len(server.writes) == 1


@pytest.mark.parametrize("failure", ["away", "hangs"])
async def test_leader_stops_at_the_renew_deadline_when_the_api_server_fails(failure: str) -> None:
    server, clock = MemoryServer(), FakeClock()
    async with leading(server, clock) as replica:
        setattr(server, failure, True)
        await clock.advance(DEADLINE - 0.1)
        assert replica.works()
        await clock.advance(0.1)
        assert not replica.works()
        assert not replica.election.held


async def test_deadline_counts_from_before_the_request_that_acquired() -> None:
    server, clock = MemoryServer(), FakeClock()
    answered = server.send

    async def slow(request: object) -> object:
        clock.stop_process(2)
        return await answered(request)  # type: ignore[arg-type]

    server.send = slow  # type: ignore[method-assign, assignment]
    async with leading(server, clock) as replica:
        server.away = True
        # Two slow requests, a GET and a POST, have used up four seconds.
        await clock.advance(DEADLINE - 4)
        assert not replica.works()


async def test_stopped_process_does_not_write_first_when_it_continues() -> None:
    server, clock = MemoryServer(), FakeClock()
    async with leading(server, clock) as replica:
        clock.stop_process(TIMING.duration.total_seconds() + 1)
        server.take_over("two")
        # What was received meanwhile is handled before the timers that are due.
        replica.write.set()
        await settle()
        assert server.writes == []
        assert "lease has expired" in replica.refused[0].message
        await clock.advance(0)
        assert not replica.works()
        assert server.holder == "two"


async def test_programs_are_not_started_in_pods_after_the_lease_expired() -> None:
    client = Client(MemoryServer())
    with fence.writes_while(lambda: False), pytest.raises(errors.LeaseExpired):
        await client.execute(Key("ns", "pod"), ["true"])


async def test_reads_and_what_is_not_of_the_leader_are_not_fenced() -> None:
    server = MemoryServer()
    client = Client(server)
    with fence.writes_while(lambda: False), pytest.raises(errors.NotFound):
        await client.get(Kind("coordination.k8s.io", "v1", "Lease", "leases"), LEASE)
    await client.apply(WIDGET, {"metadata": {"name": "w", "namespace": "ns"}}, manager="test")
    assert len(server.writes) == 1


def test_timing_with_a_deadline_longer_than_the_lease_is_refused() -> None:
    with pytest.raises(ValueError, match=r"renew deadline \(15 s\) must be shorter"):
        Timing(renew_deadline=timedelta(seconds=15))
