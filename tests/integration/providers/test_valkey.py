"""Valkey on simulated nodes: names, binding, passwords, and a crash at every API call."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import (
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.foreign.valkey import VALKEY
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from cobaltlab.providers import valkey
from cobaltlab.providers.provider import Provider
from tests.support import simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, FaultTransport, When
from tests.support.operating import eventually, read
from tests.support.providers import (
    RunningProviders,
    an_object,
    condition,
    content,
    converges_despite_crash,
    install,
    message,
    running_providers,
)
from tests.support.rights import as_provider

PROVIDER = Provider(
    valkey.PROVIDER.name,
    valkey.PROVIDER.kinds,
    lambda setting: valkey.controllers(replace(setting, images={"valkey": "example.invalid/v:1"})),
)
CLAIM = "valkey-data-valkey-cache-primary-0"
READY = ("True", "Ready")


def a_cache(namespace: str, **spec: Any) -> Object:
    fields = {"replicas": 1, "persistence": {"enabled": True, "size": "1Gi"}, **spec}
    return an_object(VALKEY, Key(namespace, "cache"), fields)


@pytest.fixture
async def fault_transport(
    simulated_control_plane: ControlPlaneHarness, simulated_client: Client
) -> FaultTransport:
    """The provider's connection, which counts its requests."""
    await install(simulated_client, PROVIDER)
    return FaultTransport(as_provider(simulated_control_plane, "provider"))


@pytest.fixture
async def running(fault_transport: FaultTransport) -> AsyncIterator[RunningProviders]:
    async with running_providers(fault_transport, PROVIDER) as found:
        yield found


@pytest.fixture
async def namespace(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    running: RunningProviders,
) -> AsyncIterator[str]:
    """A namespace with a volume for the server; its objects are deleted afterwards."""
    name = simulated_control_plane.create_namespace("valkey")
    await simulated_volumes.bind(simulated_client, Key(name, CLAIM))
    yield name
    if await read(simulated_client, VALKEY, Key(name, "cache")):
        await simulated_client.delete(VALKEY, Key(name, "cache"))


async def _is_ready(client: Client, namespace: str) -> None:
    async def check() -> bool:
        return await condition(client, VALKEY, Key(namespace, "cache")) == READY

    await eventually(check, "the cache is ready")


async def test_a_cache_has_the_real_operators_names(
    simulated_client: Client, namespace: str
) -> None:
    await simulated_client.create(VALKEY, a_cache(namespace))
    await _is_ready(simulated_client, namespace)
    login = await content(simulated_client, Key(namespace, "valkey-cache"))
    assert login is not None
    password = login["valkey-password"]
    assert await content(simulated_client, Key(namespace, "valkey-cache-binding")) == {
        "password": password,
        "primaryHost": f"valkey-cache-primary.{namespace}.svc.cluster.local",
        "primaryPort": "6379",
        "replicaHost": f"valkey-cache-replicas.{namespace}.svc.cluster.local",
        "replicaPort": "6379",
    }
    for name in ("primary", "replicas", "headless"):
        assert await read(simulated_client, SERVICE, Key(namespace, f"valkey-cache-{name}"))
    server = await simulated_client.get(STATEFUL_SET, Key(namespace, "valkey-cache-primary"))
    assert password not in str(server)
    status = (await simulated_client.get(VALKEY, Key(namespace, "cache")))["status"]
    assert (status["state"], status["observedGeneration"]) == ("Ready", 1)


async def test_the_binding_names_the_sentinel(simulated_client: Client, namespace: str) -> None:
    binding = {"secretName": "mine"}
    cache = a_cache(namespace, sentinel={"enabled": True}, binding=binding)
    await simulated_client.create(VALKEY, cache)
    await _is_ready(simulated_client, namespace)
    found = await content(simulated_client, Key(namespace, "mine"))
    assert found is not None
    host = f"valkey-cache.{namespace}.svc.cluster.local"
    assert (found["sentinelHost"], found["sentinelPort"]) == (host, "26379")
    assert (found["sentinelEnabled"], found["primaryName"]) == ("true", "myprimary")
    service = await simulated_client.get(SERVICE, Key(namespace, "valkey-cache"))
    assert {each["port"] for each in service["spec"]["ports"]} == {6379, 26379}


async def test_immutable_fields_are_reported(simulated_client: Client, namespace: str) -> None:
    await simulated_client.create(VALKEY, a_cache(namespace))
    await _is_ready(simulated_client, namespace)
    key = Key(namespace, "cache")
    await simulated_client.patch(VALKEY, key, {"spec": {"persistence": {"enabled": False}}})

    async def refused() -> bool:
        return await condition(simulated_client, VALKEY, key) == ("False", "Error")

    await eventually(refused, "the change is refused")
    assert "are forbidden" in await message(simulated_client, VALKEY, key)
    await simulated_client.patch(VALKEY, key, {"spec": {"persistence": {"enabled": True}}})
    await _is_ready(simulated_client, namespace)


async def test_a_converged_pass_makes_no_request(
    simulated_client: Client,
    namespace: str,
    running: RunningProviders,
    fault_transport: FaultTransport,
) -> None:
    await simulated_client.create(VALKEY, a_cache(namespace))
    await _is_ready(simulated_client, namespace)
    await eventually(running.is_idle, "at rest")
    before = len(fault_transport.calls)
    running.controller("valkey").queue.add(Key(namespace, "cache"))
    await eventually(running.is_idle, "at rest again")
    assert fault_transport.calls[before:] == []


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A cache, from its making to its end."""

    client: Client
    namespace: str

    async def create(self) -> None:
        await simulated_volumes.bind(self.client, Key(self.namespace, CLAIM))
        await self.client.create(VALKEY, a_cache(self.namespace))

    async def is_created(self) -> bool:
        ready = await condition(self.client, VALKEY, Key(self.namespace, "cache"))
        return ready == READY and await self._bound() == await self._password()

    async def change(self) -> None:
        data = {"valkey-password": base64.b64encode(b"changed").decode()}
        await self.client.patch(SECRET, Key(self.namespace, "valkey-cache"), {"data": data})

    async def is_changed(self) -> bool:
        return await self.is_created() and await self._bound() == "changed"

    async def end(self) -> None:
        await self.client.delete(VALKEY, Key(self.namespace, "cache"))

    async def is_ended(self) -> bool:
        """Nothing holds the object, and its data stays."""
        claim = await read(self.client, PERSISTENT_VOLUME_CLAIM, Key(self.namespace, CLAIM))
        deleted = await read(self.client, VALKEY, Key(self.namespace, "cache")) is None
        return deleted and claim is not None and not claim["metadata"].get("deletionTimestamp")

    async def _bound(self) -> str | None:
        found = await content(self.client, Key(self.namespace, "valkey-cache-binding"))
        return found["password"] if found else None

    async def _password(self) -> str:
        found = await content(self.client, Key(self.namespace, "valkey-cache"))
        return found["valkey-password"] if found else ""


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    simulated_control_plane: ControlPlaneHarness, simulated_client: Client, when: When
) -> None:
    await install(simulated_client, PROVIDER)
    call, crashes = 0, True
    while crashes:
        call += 1
        lifecycle = Lifecycle(simulated_client, simulated_control_plane.create_namespace("crash"))
        steps = [
            (lifecycle.create, lifecycle.is_created),
            (lifecycle.change, lifecycle.is_changed),
            (lifecycle.end, lifecycle.is_ended),
        ]
        point = CrashPoint(call, when)
        crashes = await converges_despite_crash(simulated_control_plane, steps, PROVIDER, point)
    assert call > 15, "a whole lifecycle takes more calls than that"
