"""Operators that die at an API call and are started again, until their work is done."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.transport import Request
from tests.support import faults, services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import Crash, CrashPoint, FaultTransport, When
from tests.support.openstack_peer import Route, peer
from tests.support.operating import eventually, transport

Check = Callable[[], Awaitable[bool]]
Controllers = Callable[[Context], Iterable[Controller]]


def operators(*names: str) -> Controllers:
    """The controllers of operators, by the operators' names."""

    def controllers(context: Context) -> Iterable[Controller]:
        for each in registry.operators():
            if each.name in names:
                yield from each.controllers(context)

    return controllers


@dataclass(slots=True)
class Mortal:
    """Processes that die at one API call each, so that in the end one died at every call.

    First one dies at each call of a start: these only read. Of those that have started, one dies
    before and one after the first call, then the next, until a change gets through; so every
    change is died at twice. What only reads, or records an event, is repeated by every process, so
    that is died at once for each thing to say.
    """

    plane: ControlPlaneHarness
    controllers: Controllers
    deaths: int = 0

    async def work_until(self, check: Check, what: str) -> None:
        """Start one process after the other until something holds."""
        await self._die_while_starting(what)
        deaths: set[_Death] = set()
        while not await check():
            async with self._process() as process:
                process.die_at_first_call_but(deaths)
                await process.lives_until(check, f"{what}, {self.deaths} deaths")
            if any(_is_change(request) for request in process.wire.sent):
                deaths = {each for each in deaths if not each.at_change}

    async def _die_while_starting(self, what: str) -> None:
        """Until one process gets through its start: there is nothing left to die at."""
        for call in itertools.count(1):
            async with self._process() as process:
                process.wire.crash = CrashPoint(call)
                await process.lives_until(process.has_started, f"{what}, start")
            if process.manager.ready.is_set():
                return

    @asynccontextmanager
    async def _process(self) -> AsyncIterator["_Process"]:
        wire = FaultTransport(transport(self.plane, "doomed"))
        client = Client(wire)
        cluster = Cluster(client)
        async with peer() as openstack:
            context = Context(cluster, "test", openstack=Route(openstack))
            manager = Manager({"local": cluster}, list(self.controllers(context)))
            process = _Process(wire, manager, asyncio.ensure_future(manager.run()))
            try:
                yield process
            finally:
                self.deaths += process.task.done()
                process.task.cancel()
                await asyncio.wait({process.task})
                await client.close()
                _expect_crash(process.task)


class _Death(NamedTuple):
    when: When
    method: str
    path: str
    reason: str
    at_change: bool


@dataclass(frozen=True, slots=True)
class _Process:
    wire: FaultTransport
    manager: Manager
    task: asyncio.Task[None]

    def die_at_first_call_but(self, deaths: set[_Death]) -> None:
        """Die, once started, in a way that no process has died in, and add it to those."""

        def doom(request: Request) -> When | None:
            ways: tuple[When, ...] = ("before", "after")
            new = [way for way in ways if _death(way, request) not in deaths]
            if not new or not self.manager.ready.is_set():
                return None
            deaths.add(_death(new[0], request))
            return new[0]

        self.wire.doom = doom

    async def lives_until(self, check: Check, what: str) -> None:
        """Let it work until something holds, or it dies."""

        async def either() -> bool:
            return self.task.done() or await check()

        await eventually(either, what)

    async def has_started(self) -> bool:
        return self.manager.ready.is_set()


def _death(when: When, request: Request) -> _Death:
    change = _is_change(request)
    body = {} if change or not request.body else msgspec.json.decode(request.body)
    return _Death(when, request.method, request.path, body.get("reason", ""), change)


def _is_change(request: Request) -> bool:
    return faults.is_write(request) and "/events" not in request.path


def _expect_crash(task: asyncio.Task[None]) -> None:
    """A process may die of nothing else."""
    problem = None if task.cancelled() else task.exception()
    if isinstance(problem, BaseExceptionGroup) and problem.split(Crash)[1] is None:
        return
    assert problem is None or isinstance(problem, Crash), problem


@asynccontextmanager
async def approval(plane: ControlPlaneHarness) -> AsyncIterator[None]:
    """Third-party operators that say yes at once, and do not die."""
    client = Client(transport(plane, "approval"))
    cluster = Cluster(client)
    manager = Manager({"local": cluster}, services.Approval(cluster, services.FOREIGN).controllers)
    task = asyncio.ensure_future(manager.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        await client.close()
