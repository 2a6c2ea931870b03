"""Run lab providers against the test API server, look at the result from outside."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import jsonschema

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Kind, Object, key_of
from cobaltcore.runtime.transport import Transport
from cobaltlab.providers import provider
from cobaltlab.providers.provider import Context, Provider
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import Crash, CrashPoint, FaultTransport
from tests.support.operating import eventually, read
from tests.support.real_schemas import real_schema
from tests.support.rights import as_provider

Check = Callable[[], Awaitable[bool]]
Step = tuple[Callable[[], Awaitable[None]], Check]


@dataclass(slots=True)
class RunningProviders:
    """Providers that run."""

    manager: Manager
    controllers: Sequence[Controller]
    task: asyncio.Task[None]

    @property
    def crashed(self) -> bool:
        return self.task.done()

    async def is_idle(self) -> bool:
        """Whether nothing is left to do now; what is due later does not count."""
        return self.manager.ready.is_set() and all(
            not each.queue.busy for each in self.controllers
        )

    def controller(self, name: str) -> Controller:
        return next(each for each in self.controllers if each.name == name)


@asynccontextmanager
async def running_providers(
    fault_transport: Transport, *providers: Provider, clock: Clock | None = None
) -> AsyncIterator[RunningProviders]:
    """Run providers whose kinds are installed; a crash of them is not an error of the test."""
    client = Client(fault_transport)
    context = Context(Cluster(client), "test", clock=clock or SystemClock())
    controllers = [each for one in providers for each in one.controllers(context)]
    manager = Manager({"local": context.cluster}, controllers)
    task = asyncio.ensure_future(_survive(manager))
    try:
        yield RunningProviders(manager, controllers, task)
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


async def install(client: Client, *providers: Provider) -> None:
    """Install the kinds of providers, with no object of theirs."""
    for each in providers:
        assert await provider.install(client, each)
        await clear(client, *{(kind.group, kind.plural): kind for kind in each.kinds}.values())


async def clear(client: Client, *kinds: Kind) -> None:
    """Remove what earlier tests left behind, finalizers or not."""
    for kind in kinds:
        async for objects, _ in client.list_pages(kind):
            for each in objects:
                if each["metadata"].get("finalizers"):
                    await client.patch(kind, key_of(each), {"metadata": {"finalizers": []}})
                await client.delete(kind, key_of(each))


async def converges_despite_crash(
    plane: ControlPlaneHarness, steps: Sequence[Step], provided: Provider, point: CrashPoint
) -> bool:
    """Go through all steps with one crash; False once there are fewer calls than that."""
    crashing = FaultTransport(as_provider(plane, "crashing-provider"), crash=point)
    async with running_providers(crashing, provided) as running:
        done = 0
        for step, check in steps:
            await step()
            await eventually(_or_crashed(check, running), f"step {done} with a crash at {point}")
            if running.crashed:
                break
            done += 1
        crashed = running.crashed
    if crashed:
        async with running_providers(as_provider(plane, "surviving-provider"), provided):
            await eventually(steps[done][1], f"step {done} after a crash at {point}")
            for number, (step, check) in enumerate(steps[done + 1 :], done + 1):
                await step()
                await eventually(check, f"step {number} after a crash at {point}")
    return crashed


def _or_crashed(check: Check, running: RunningProviders) -> Check:
    async def either() -> bool:
        return running.crashed or await check()

    return either


def an_object(kind: Kind, key: Key, spec: Any, **meta: Any) -> Object:
    """An object that the real operator's schema accepts, too, where that schema is at hand."""
    where = {"namespace": key.namespace} if kind.namespaced else {}
    obj = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": key.name, **where, **meta},
        "spec": spec,
    }
    validate(kind, obj)
    return obj


def validate(kind: Kind, obj: Object) -> None:
    schema = real_schema(kind)
    if schema is not None:
        jsonschema.Draft202012Validator(schema).validate(obj)


async def condition(client: Client, kind: Kind, key: Key, type_: str = "Ready") -> tuple[str, str]:
    """Status and reason of a condition; empty if it is not there."""
    found = await read(client, kind, key)
    for each in ((found or {}).get("status") or {}).get("conditions", []):
        if each["type"] == type_:
            return each["status"], each["reason"]
    return "", ""


async def message(client: Client, kind: Kind, key: Key, type_: str = "Ready") -> str:
    found = await read(client, kind, key)
    for each in ((found or {}).get("status") or {}).get("conditions", []):
        if each["type"] == type_:
            return str(each.get("message", ""))
    return ""


async def content(client: Client, key: Key) -> dict[str, str] | None:
    """What a Secret holds, or None if there is none."""
    found = await read(client, Kind("", "v1", "Secret", "secrets"), key)
    if found is None:
        return None
    return {k: base64.b64decode(v).decode() for k, v in (found.get("data") or {}).items()}
