"""The lifetime of an operator process: caches, election, controllers, servers, shutdown.

Every replica fills its caches; only the leader's controllers work. On a stop the running passes
get a while to finish, then the lease is released.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from cobaltcore.runtime import log
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.health import HealthServer
from cobaltcore.runtime.lease import Election

_log = log.get("manager")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a process behaves, apart from what its controllers do."""

    health_host: str = "127.0.0.1"
    health_port: int = 0
    shutdown_grace: timedelta = timedelta(seconds=20)


class Server(Protocol):
    """Something that listens as long as the process runs."""

    async def start(self) -> None:
        """Begin to listen."""
        ...

    async def stop(self) -> None:
        """Answer what was asked, then close."""
        ...


class Manager:
    """Runs controllers on one or several clusters."""

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        controllers: Iterable[Controller],
        *,
        election: Election | None = None,
        webhooks: Server | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._clusters = dict(clusters)
        self._controllers = list(controllers)
        self._election = election
        self._webhooks = webhooks
        self._settings = settings or Settings()
        self._stop = asyncio.Event()
        self.ready = asyncio.Event()
        self.health = HealthServer(
            host=self._settings.health_host,
            port=self._settings.health_port,
            ready=self.ready.is_set,
        )
        for controller in self._controllers:
            self._connect(controller)

    def stop(self) -> None:
        """Ask the process to end in good order."""
        self._stop.set()

    def stop_on_signals(self) -> None:
        """End in good order on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

    async def run(self) -> None:
        """Work until told to stop; raise what the start cannot get over."""
        asyncio.get_running_loop().set_exception_handler(_explain)
        for cluster in self._clusters.values():
            await cluster.client.raw("/version")
        servers: list[Server] = [self.health, *([self._webhooks] if self._webhooks else [])]
        async with AsyncExitStack() as started:
            for server in servers:
                await server.start()
                started.push_async_callback(server.stop)
            await self._run_informers(self._work)

    def _connect(self, controller: Controller) -> None:
        for source in controller.sources:
            informer = self._clusters[source.cluster].informer(source.kind, source.scope)
            informer.on_change(partial(controller.notice, source))

    async def _run_informers(self, work: Callable[[], Awaitable[None]]) -> None:
        """Keep the caches filled while `work` runs; a cache that cannot start ends it."""
        informers = [i for cluster in self._clusters.values() for i in cluster.informers]
        followers = [asyncio.ensure_future(informer.run()) for informer in informers]
        worker = asyncio.ensure_future(work())
        try:
            done, _ = await asyncio.wait({worker, *followers}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await _cancel([worker, *followers])

    async def _work(self) -> None:
        for cluster in self._clusters.values():
            await cluster.synced()
        self.ready.set()
        _log.info("caches filled", kinds=sum(len(c.informers) for c in self._clusters.values()))
        while not self._stop.is_set():
            if self._election is None:
                await self._control()
            else:
                await self._until_stopped(self._election.lead(self._control))

    async def _control(self) -> None:
        """Run all controllers; on a stop let running passes finish for a while."""
        tasks = [asyncio.ensure_future(controller.run()) for controller in self._controllers]
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({stopped, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for controller in self._controllers:
                controller.stop()
            stopped.cancel()
            grace = self._settings.shutdown_grace.total_seconds()
            ended, late = await asyncio.wait({stopped, *tasks}, timeout=grace)
            if late:
                _log.warning("passes cut off", seconds=grace)
            for task in ended - {stopped}:
                task.result()
        finally:
            await _cancel([stopped, *tasks])

    async def _until_stopped(self, leading: Awaitable[None]) -> None:
        """Lead, or stop waiting for the lease when the process is to end."""
        leader = asyncio.ensure_future(leading)
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({leader, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if self.leading:
                await asyncio.wait({leader})
            if leader.done():
                leader.result()
        finally:
            await _cancel([leader, stopped])

    @property
    def leading(self) -> bool:
        """Whether this replica's controllers may work."""
        return self._election is None or self._election.held


def _explain(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What no task waits for: connections that we cut ourselves make most of it."""
    error = context.get("exception")
    report = _log.debug if isinstance(error, OSError) else _log.error
    report("event loop", what=context["message"], error=str(error))


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
