"""A service operator dies at each of its API calls; the next one continues."""

from collections.abc import Awaitable, Callable

import pytest

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support import openstack
from tests.support.control_plane import ControlPlaneHarness
from tests.support.mortal import Mortal, approval, operators
from tests.support.operating import read

SURVIVORS = {"Nova": None, "Keystone": "keystone-fernet-keys"}
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
    async with approval(plane):
        for act, check in (
            (_make, openstack.is_ready(client, wanted)),
            (_change, _is_changed(client, wanted)),
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
            await read(client, SECRET, Key(namespace, f"{name}-environment")),
        ]
        return left == [None, None, None]

    return check
