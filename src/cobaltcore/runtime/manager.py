"""The lifetime of an operator process: caches, leader election, controllers, servers, shutdown.

Every replica syncs its caches; only the leader's controllers run. What an earlier term had scheduled
is lost with it, so a new term starts from the caches. On shutdown running reconciles have a grace
period to finish, then the lease is released.
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
from cobaltcore.runtime.controller import Controller, Source
from cobaltcore.runtime.health import HealthServer
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.lease import Election

_log = log.get("manager")


@dataclass(frozen=True, slots=True)
class Settings:
    """Health endpoint and shutdown of a process."""

    health_host: str = "127.0.0.1"
    health_port: int = 0
    shutdown_grace: timedelta = timedelta(seconds=20)


class Server(Protocol):
    """A server that listens as long as the process runs."""

    async def start(self) -> None: ...

    async def stop(self) -> None:
        """Complete open requests, then close."""
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
        self._is_first_term = True
        self.ready = asyncio.Event()
        self.health = HealthServer(
            host=self._settings.health_host,
            port=self._settings.health_port,
            ready=self.ready.is_set,
        )
        for controller in self._controllers:
            self._subscribe(controller)

    def stop(self) -> None:
        """Begin a graceful shutdown."""
        self._stop.set()

    def stop_on_signals(self) -> None:
        """Shut down gracefully on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

    async def run(self) -> None:
        """Run until stopped; raise what makes a start impossible."""
        asyncio.get_running_loop().set_exception_handler(_log_unhandled)
        for cluster in self._clusters.values():
            await cluster.client.raw("/version")
        servers: list[Server] = [self.health, *([self._webhooks] if self._webhooks else [])]
        async with AsyncExitStack() as started:
            for server in servers:
                await server.start()
                started.push_async_callback(server.stop)
            await self._run_informers(self._lead_and_work)

    def _subscribe(self, controller: Controller) -> None:
        for source in controller.sources:
            self._informer(source).on_change(partial(controller.enqueue, source))

    def _informer(self, source: Source) -> Informer:
        return self._clusters[source.cluster].informer(source.kind, source.scope)

    def _enqueue_all(self) -> None:
        """Reconcile everything that the caches have."""
        for controller in self._controllers:
            for source in controller.sources:
                self._informer(source).replay(partial(controller.enqueue, source))

    async def _run_informers(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run informers while `work` runs; an informer that cannot start ends it."""
        informers = [i for cluster in self._clusters.values() for i in cluster.informers]
        watching = [asyncio.ensure_future(informer.run()) for informer in informers]
        working = asyncio.ensure_future(work())
        try:
            done, _ = await asyncio.wait({working, *watching}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await _cancel([working, *watching])

    async def _lead_and_work(self) -> None:
        for cluster in self._clusters.values():
            await cluster.synced()
        self.ready.set()
        _log.info(
            "caches synced", informers=sum(len(c.informers) for c in self._clusters.values())
        )
        while not self._stop.is_set():
            if self._election is None:
                await self._run_controllers()
            else:
                await self._until_stopped(self._election.lead(self._run_controllers))

    async def _run_controllers(self) -> None:
        """Run all controllers; on a stop running reconciles have the grace period to finish."""
        if not self._is_first_term:
            self._enqueue_all()
        self._is_first_term = False
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
                _log.warning("running reconciles cancelled", grace_seconds=grace)
            for task in ended - {stopped}:
                task.result()
        finally:
            await _cancel([stopped, *tasks])

    async def _until_stopped(self, leading: Awaitable[None]) -> None:
        """Lead, or stop waiting for the lease on shutdown."""
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
        """Whether this replica's controllers may run."""
        return self._election is None or self._election.held


def _log_unhandled(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    # Most OSErrors are from connections that this process has aborted itself.
    log_message = _log.debug if isinstance(error, OSError) else _log.error
    log_message("unhandled error", message=context["message"], error=str(error))


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
