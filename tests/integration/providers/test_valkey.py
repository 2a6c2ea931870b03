"""Valkey on played nodes: names, binding, passwords, and a crash at every API call."""

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
from cobaltcore.lab.providers import valkey
from cobaltcore.lab.providers.provider import Provider
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support import played_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, FaultTransport, When
from tests.support.operating import eventually, read
from tests.support.providing import (
    Providing,
    an_object,
    condition,
    content,
    install,
    lives_through,
    message,
    providing,
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
    wanted = {"replicas": 1, "persistence": {"enabled": True, "size": "1Gi"}, **spec}
    return an_object(VALKEY, Key(namespace, "cache"), wanted)


@pytest.fixture
async def wire(played_control_plane: ControlPlaneHarness, played_client: Client) -> FaultTransport:
    """The provider's connection, which counts its requests."""
    await install(played_client, PROVIDER)
    return FaultTransport(as_provider(played_control_plane, "provider"))


@pytest.fixture
async def running(wire: FaultTransport) -> AsyncIterator[Providing]:
    async with providing(wire, PROVIDER) as found:
        yield found


@pytest.fixture
async def namespace(
    played_control_plane: ControlPlaneHarness, played_client: Client, running: Providing
) -> AsyncIterator[str]:
    """A namespace with a volume for the server; its objects are gone afterwards."""
    name = played_control_plane.create_namespace("valkey")
    await played_volumes.bind(played_client, Key(name, CLAIM))
    yield name
    if await read(played_client, VALKEY, Key(name, "cache")):
        await played_client.delete(VALKEY, Key(name, "cache"))


async def _is_ready(client: Client, namespace: str) -> None:
    async def check() -> bool:
        return await condition(client, VALKEY, Key(namespace, "cache")) == READY

    await eventually(check, "the cache is ready")


async def test_a_cache_has_the_real_operators_names(played_client: Client, namespace: str) -> None:
    await played_client.create(VALKEY, a_cache(namespace))
    await _is_ready(played_client, namespace)
    login = await content(played_client, Key(namespace, "valkey-cache"))
    assert login is not None
    password = login["valkey-password"]
    assert await content(played_client, Key(namespace, "valkey-cache-binding")) == {
        "password": password,
        "primaryHost": f"valkey-cache-primary.{namespace}.svc.cluster.local",
        "primaryPort": "6379",
        "replicaHost": f"valkey-cache-replicas.{namespace}.svc.cluster.local",
        "replicaPort": "6379",
    }
    for name in ("primary", "replicas", "headless"):
        assert await read(played_client, SERVICE, Key(namespace, f"valkey-cache-{name}"))
    server = await played_client.get(STATEFUL_SET, Key(namespace, "valkey-cache-primary"))
    assert password not in str(server)
    status = (await played_client.get(VALKEY, Key(namespace, "cache")))["status"]
    assert (status["state"], status["observedGeneration"]) == ("Ready", 1)


async def test_a_sentinel_is_told_to_clients(played_client: Client, namespace: str) -> None:
    binding = {"secretName": "mine"}
    cache = a_cache(namespace, sentinel={"enabled": True}, binding=binding)
    await played_client.create(VALKEY, cache)
    await _is_ready(played_client, namespace)
    found = await content(played_client, Key(namespace, "mine"))
    assert found is not None
    host = f"valkey-cache.{namespace}.svc.cluster.local"
    assert (found["sentinelHost"], found["sentinelPort"]) == (host, "26379")
    assert (found["sentinelEnabled"], found["primaryName"]) == ("true", "myprimary")
    service = await played_client.get(SERVICE, Key(namespace, "valkey-cache"))
    assert {each["port"] for each in service["spec"]["ports"]} == {6379, 26379}


async def test_what_cannot_be_changed_is_said(played_client: Client, namespace: str) -> None:
    await played_client.create(VALKEY, a_cache(namespace))
    await _is_ready(played_client, namespace)
    key = Key(namespace, "cache")
    await played_client.patch(VALKEY, key, {"spec": {"persistence": {"enabled": False}}})

    async def refused() -> bool:
        return await condition(played_client, VALKEY, key) == ("False", "Error")

    await eventually(refused, "the change is refused")
    assert "are forbidden" in await message(played_client, VALKEY, key)
    await played_client.patch(VALKEY, key, {"spec": {"persistence": {"enabled": True}}})
    await _is_ready(played_client, namespace)


async def test_a_converged_pass_makes_no_request(
    played_client: Client, namespace: str, running: Providing, wire: FaultTransport
) -> None:
    await played_client.create(VALKEY, a_cache(namespace))
    await _is_ready(played_client, namespace)
    await eventually(running.rests, "at rest")
    before = len(wire.calls)
    running.controller("valkey").queue.add(Key(namespace, "cache"))
    await eventually(running.rests, "at rest again")
    assert wire.calls[before:] == []


@dataclass(frozen=True, slots=True)
class Life:
    """A cache, from its making to its end."""

    client: Client
    namespace: str

    async def make(self) -> None:
        await played_volumes.bind(self.client, Key(self.namespace, CLAIM))
        await self.client.create(VALKEY, a_cache(self.namespace))

    async def is_made(self) -> bool:
        ready = await condition(self.client, VALKEY, Key(self.namespace, "cache"))
        return ready == READY and await self._bound() == await self._password()

    async def change(self) -> None:
        data = {"valkey-password": base64.b64encode(b"changed").decode()}
        await self.client.patch(SECRET, Key(self.namespace, "valkey-cache"), {"data": data})

    async def is_changed(self) -> bool:
        return await self.is_made() and await self._bound() == "changed"

    async def end(self) -> None:
        await self.client.delete(VALKEY, Key(self.namespace, "cache"))

    async def is_ended(self) -> bool:
        """Nothing holds the object, and its data stays."""
        claim = await read(self.client, PERSISTENT_VOLUME_CLAIM, Key(self.namespace, CLAIM))
        gone = await read(self.client, VALKEY, Key(self.namespace, "cache")) is None
        return gone and claim is not None and not claim["metadata"].get("deletionTimestamp")

    async def _bound(self) -> str | None:
        found = await content(self.client, Key(self.namespace, "valkey-cache-binding"))
        return found["password"] if found else None

    async def _password(self) -> str:
        found = await content(self.client, Key(self.namespace, "valkey-cache"))
        return found["valkey-password"] if found else ""


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    played_control_plane: ControlPlaneHarness, played_client: Client, when: When
) -> None:
    await install(played_client, PROVIDER)
    call, crashes = 0, True
    while crashes:
        call += 1
        life = Life(played_client, played_control_plane.create_namespace("crash"))
        acts = [
            (life.make, life.is_made),
            (life.change, life.is_changed),
            (life.end, life.is_ended),
        ]
        point = CrashPoint(call, when)
        crashes = await lives_through(played_control_plane, acts, PROVIDER, point)
    assert call > 15, "a whole life takes more calls than that"
