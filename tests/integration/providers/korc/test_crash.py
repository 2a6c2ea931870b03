"""The provider dies after each of its calls in turn, to the API server and to Keystone.

Dying before a call is dying after the one before it: the two are one test here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from cobaltcore.api.foreign import korc
from cobaltcore.runtime.client import Client
from cobaltlab.providers.korc import PROVIDER
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, FaultTransport
from tests.support.identity import WAIT_SECONDS, Identity, crashing, identity, provider
from tests.support.keystone import KeystoneHarness
from tests.support.operating import eventually
from tests.support.providers import RunningProviders, install, running_providers
from tests.support.rights import as_provider

AT_ONCE = 4
"""Lives that are lived side by side; most of a lifecycle is waiting."""
Side = str


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A domain with a user in it, from the making to the end."""

    user: Identity

    async def create(self) -> None:
        await self.user.credentials()
        await self.user.secret("password", {"password": "first password"})
        await self.user.managed(korc.DOMAIN, "home", name=self.user.unique("home"))
        await self.user.managed(
            korc.USER, "one", name="one", domainRef="home", passwordRef="password"
        )

    async def is_created(self) -> bool:
        return await self._settled()

    async def change(self) -> None:
        await self.user.secret("password", {"password": "second password"})
        await self.user.change(korc.USER, "one", description="changed")

    async def is_changed(self) -> bool:
        if not await self._settled():
            return False
        (domain,) = await self.user.named("domains", self.user.unique("home"))
        (one,) = await self.user.admin.list("/users", "users", {"domain_id": domain["id"]})
        return one.get("description") == "changed" and await self.user.logs_in(
            one["id"], "second password"
        )

    async def end(self) -> None:
        await self.user.change(korc.DOMAIN, "home", enabled=False)
        await self.user.delete(korc.DOMAIN, "home")
        await self.user.delete(korc.USER, "one")

    async def is_ended(self) -> bool:
        for kind, name in OBJECTS:
            if await self.user.exists(kind, name):
                return False
        return await self.user.named("domains", self.user.unique("home")) == []

    async def _settled(self) -> bool:
        report = [await self.user.report(kind, name) for kind, name in OBJECTS]
        return all((each.available, each.reason) == ("True", "Success") for each in report)


OBJECTS = ((korc.DOMAIN, "home"), (korc.USER, "one"))


@pytest.mark.parametrize("side", ["kubernetes", "keystone"])
async def test_a_crash_at_every_call_converges(
    control_plane: ControlPlaneHarness,
    client: Client,
    keystone: KeystoneHarness,
    side: Side,
) -> None:
    await install(client, PROVIDER)
    call, crashed = 1, [True]
    while all(crashed):
        points = [CrashPoint(call + number, "after") for number in range(AT_ONCE)]
        crashed = await asyncio.gather(
            *(_crashes(control_plane, client, keystone, side, each) for each in points)
        )
        call += AT_ONCE
    assert call > 9, "a whole lifecycle takes more calls than that"


async def _crashes(
    plane: ControlPlaneHarness,
    client: Client,
    keystone: KeystoneHarness,
    side: Side,
    point: CrashPoint,
) -> bool:
    """Live through everything with one crash; False once there are fewer calls than that."""
    namespace = plane.create_namespace("crash")
    async with identity(client, namespace, keystone) as user:
        lifecycle = Lifecycle(user)
        steps = [
            (lifecycle.create, lifecycle.is_created),
            (lifecycle.change, lifecycle.is_changed),
            (lifecycle.end, lifecycle.is_ended),
        ]
        transport = FaultTransport(as_provider(plane, "crashing-korc"))
        crashing_provider = (
            provider(namespace, connect=crashing(point))
            if side == "keystone"
            else provider(namespace)
        )
        async with running_providers(transport, crashing_provider) as running:
            await eventually(_is_ready(running), "ready", seconds=WAIT_SECONDS)
            if side == "kubernetes":
                transport.crash = CrashPoint(len(transport.calls) + point.call, point.when)
            done = 0
            for step, check in steps:
                await step()
                await eventually(
                    _or_crashed(check, running),
                    f"step {done} with {side} {point}",
                    seconds=WAIT_SECONDS,
                )
                if running.crashed:
                    break
                done += 1
            crashed = running.crashed
        if crashed:
            async with running_providers(
                as_provider(plane, "surviving-korc"), provider(namespace)
            ):
                await eventually(
                    steps[done][1], f"step {done} after {side} {point}", seconds=WAIT_SECONDS
                )
                for step, check in steps[done + 1 :]:
                    await step()
                    await eventually(check, f"an step after {side} {point}", seconds=WAIT_SECONDS)
        return crashed


Check = Callable[[], Awaitable[bool]]


def _is_ready(running: RunningProviders) -> Check:
    async def ready() -> bool:
        return running.manager.ready.is_set()

    return ready


def _or_crashed(check: Check, running: RunningProviders) -> Check:
    async def either() -> bool:
        return running.crashed or await check()

    return either
