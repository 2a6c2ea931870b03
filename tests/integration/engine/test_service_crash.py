"""A service operator dies at each of its API calls; the next one continues."""

from collections.abc import Awaitable, Callable

import pytest

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, SECRET
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support import openstack
from tests.support.control_plane import ControlPlaneHarness
from tests.support.mortal import Mortal, approval, operators
from tests.support.operating import read

KEYS = ("keystone-fernet-keys", "keystone-credential-keys")
SURVIVORS = {"Nova": None, "Keystone": KEYS[0]}
"""What stays when the object is deleted: Secrets that data depends on."""


@pytest.mark.parametrize("kind", ["Keystone", "Nova"])
async def test_a_crash_at_every_api_call_converges(
    plane: ControlPlaneHarness, client: Client, space: str, kind: str
) -> None:
    """From nothing to Ready, through a change, to gone."""
    wanted = openstack.lab_sized(openstack.example(kind), space)
    openstack.label_nodes(plane)
    await openstack.environment(client, wanted)
    mortal = Mortal(plane, operators(kind.lower()))
    rotations = [
        (_rotate, _is_rotated(client, wanted)),
        (_change_password, _is_in_use(client, wanted)),
    ]
    async with approval(plane):
        for act, check in (
            (_make, openstack.is_ready(client, wanted)),
            (_change, _is_changed(client, wanted)),
            *(rotations if kind == "Keystone" else []),
            (_end, _is_gone(client, wanted)),
        ):
            await act(client, wanted)
            await mortal.work_until(check, f"{kind}: {act.__name__}")
    assert mortal.deaths > 100, "a whole life takes more calls than that"
    if SURVIVORS[kind]:
        assert await read(client, SECRET, Key(space, str(SURVIVORS[kind])))


async def _make(client: Client, obj: Object) -> None:
    await client.create(openstack.kind_of(obj), obj)


async def _change(client: Client, obj: Object) -> None:
    """Roll every pod."""
    key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
    patch = {"spec": {"extraConfig": {"DEFAULT": {"debug": "true"}}}}
    await client.patch(openstack.kind_of(obj), key, patch)


async def _rotate(client: Client, obj: Object) -> None:
    """Make rotation of all keys due."""
    patch = {"metadata": {"annotations": {"c5c3.io/rotated-at": "2026-01-01T00:00:00Z"}}}
    for name in KEYS:
        await client.patch(SECRET, Key(obj["metadata"]["namespace"], name), patch)


def _is_rotated(client: Client, obj: Object) -> Callable[[], Awaitable[bool]]:
    ready = openstack.is_ready(client, obj)

    async def check() -> bool:
        namespace = obj["metadata"]["namespace"]
        found = [await client.get(SECRET, Key(namespace, name)) for name in KEYS]
        promoted = [set(each["data"]) for each in found]
        assert all({"0", "1"} <= keys for keys in promoted), "none is dropped"
        return promoted == [{"0", "1", "2"}] * 2 and await ready()

    return check


async def _change_password(client: Client, obj: Object) -> None:
    key = Key(obj["metadata"]["namespace"], "keystone-admin-credentials")
    await client.patch(SECRET, key, {"stringData": {"password": "second"}})


def _is_in_use(client: Client, obj: Object) -> Callable[[], Awaitable[bool]]:
    ready = openstack.is_ready(client, obj)

    async def check() -> bool:
        found = await client.get(SECRET, Key(obj["metadata"]["namespace"], "keystone-admin-login"))
        return secret.text(found, "password") == "second" and await ready()

    return check


async def _end(client: Client, obj: Object) -> None:
    key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
    await client.delete(openstack.kind_of(obj), key)


def _is_changed(client: Client, obj: Object) -> Callable[[], Awaitable[bool]]:
    ready = openstack.is_ready(client, obj)

    async def check() -> bool:
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        found = await client.get(openstack.kind_of(obj), key)
        return "DEFAULT" in found["spec"].get("extraConfig", {}) and await ready()

    return check


def _is_gone(client: Client, obj: Object) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        left = [
            await read(client, openstack.kind_of(obj), Key(namespace, name)),
            await read(client, DEPLOYMENT, Key(namespace, f"{name}-api")),
            await read(client, SECRET, Key(namespace, f"{name}-secret-options")),
        ]
        return left == [None, None, None]

    return check
