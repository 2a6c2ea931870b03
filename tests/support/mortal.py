"""Operators that die at a change and are started again, until their work is done."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cobaltcore.engine import registry
from cobaltcore.engine.operator import Context
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.transport import Request
from tests.support import faults, services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import Crash, CrashPoint, FaultTransport, When
from tests.support.operating import eventually, transport

Check = Callable[[], Awaitable[bool]]
Controllers = Callable[[Context], Iterable[Controller]]


def operators(*names: str) -> Controllers:
    """The controllers of operators, by the operators' names."""

    def made(context: Context) -> Iterable[Controller]:
        for each in registry.operators():
            if each.name in names:
                yield from each.controllers(context)

    return made


def is_change(request: Request) -> bool:
    """Events are a courtesy: who dies after one has changed nothing, and says it again."""
    return faults.is_write(request) and "/events" not in request.path


@dataclass(slots=True)
class Mortal:
    """Processes that live for one change each."""

    plane: ControlPlaneHarness
    controllers: Controllers
    call: int = 1
    when: When = "after"
    deaths: int = 0

    async def work_until(self, check: Check, what: str) -> None:
        """Start one process after the other until something holds."""
        while not await check():
            self.deaths += await self._one_lives_until(check, f"{what}, {self.deaths} deaths")

    async def _one_lives_until(self, check: Check, what: str) -> bool:
        """Run a process until something holds, or it dies; return whether it died."""
        point = CrashPoint(self.call, self.when, is_change)
        client = Client(FaultTransport(transport(self.plane, "doomed"), crash=point))
        cluster = Cluster(client)
        manager = Manager({"local": cluster}, list(self.controllers(Context(cluster, "test"))))
        task = asyncio.ensure_future(manager.run())

        async def either() -> bool:
            return task.done() or await check()

        try:
            await eventually(either, what)
            return task.done()
        finally:
            task.cancel()
            await asyncio.wait({task})
            await client.close()
            _expect_crash(task)


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
