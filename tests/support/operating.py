"""Run an operator against the test API server, look at the result from outside."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cobaltcore.runtime import errors, kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.lease import Election
from cobaltcore.runtime.manager import Manager, Settings
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.transport import Transport
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import Crash
from tests.support.sample import SampleOperator

WAIT_SECONDS = 180


def transport(plane: ControlPlaneHarness, agent: str) -> HttpTransport:
    """A plain connection of the administrator, recognisable by its agent."""
    connection = kubeconfig.load(plane.kubeconfig(), environ={})
    return HttpTransport(connection, agent=agent)


async def eventually(
    check: Callable[[], Awaitable[bool]], what: str, *, seconds: float = WAIT_SECONDS
) -> None:
    """Wait for a condition."""
    try:
        async with asyncio.timeout(seconds):
            while not await check():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None


@dataclass(slots=True)
class Operating:
    """A running sample operator."""

    cluster: Cluster
    operator: SampleOperator
    manager: Manager
    task: asyncio.Task[None]

    @property
    def crashed(self) -> bool:
        return self.task.done()

    async def rests(self) -> bool:
        """Whether nothing is left to do."""
        return self.manager.ready.is_set() and self.operator.controller.queue.idle

    def reconciles(self, key: Key) -> int:
        return self.operator.reconciles.get(key, 0)


@asynccontextmanager
async def operating(
    wire: Transport,
    *,
    namespace: str,
    ledger: str,
    election: Callable[[Client], Election] | None = None,
) -> AsyncIterator[Operating]:
    """Run the sample operator over a transport; a crash of it is not an error of the test."""
    client = Client(wire)
    cluster = Cluster(client)
    operator = SampleOperator(cluster, namespace=namespace, ledger=ledger)
    manager = Manager(
        {"local": cluster},
        [operator.controller],
        election=election(client) if election else None,
        settings=Settings(),
    )
    task = asyncio.ensure_future(_survive(manager))
    try:
        yield Operating(cluster, operator, manager, task)
    finally:
        task.cancel()
        await asyncio.wait({task})
        await client.close()
        if not task.cancelled():
            task.result()


async def _survive(manager: Manager) -> None:
    try:
        await manager.run()
    except Crash:
        return
    except BaseExceptionGroup as group:
        if group.split(Crash)[1] is not None:
            raise


async def read(client: Client, kind: Kind, key: Key) -> Object | None:
    """An object as the server has it, or None."""
    try:
        return await client.get(kind, key)
    except errors.NotFound:
        return None
