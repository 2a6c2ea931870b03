"""Operators that serve one namespace, with rights in no other: `--watch-namespace`."""

import pytest

from cobaltcore.api.foreign.kubernetes import NODE, SECRET
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.support import openstack
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.rights import as_operator_of_namespace
from tests.support.services import serving

AGENT = "namespaced-operator"


@pytest.mark.parametrize("kind", ["Placement", "Nova"])
async def test_operator_of_a_namespace_serves_it_and_leaves_others(
    plane: ControlPlaneHarness, client: Client, space: str, kind: str
) -> None:
    wanted = openstack.lab_sized(openstack.example(kind), space)
    name, own_kind = wanted["metadata"]["name"], openstack.kind_of(wanted)
    elsewhere = plane.create_namespace("elsewhere")
    await client.create(own_kind, openstack.lab_sized(openstack.example(kind), elsewhere))
    openstack.label_nodes(plane)
    await openstack.environment(client, wanted)
    await client.create(own_kind, wanted)
    wire = as_operator_of_namespace(plane, AGENT, kind.lower(), space)
    async with serving(plane, [kind.lower()], wire=wire, watched=space) as running:
        await eventually(openstack.is_ready(client, wanted), f"{kind} is Ready")
        assert not running.task.done()
    other = await client.get(own_kind, Key(elsewhere, name))
    assert not other.get("status")


async def test_account_of_a_namespace_is_refused_elsewhere(
    plane: ControlPlaneHarness, space: str
) -> None:
    elsewhere = plane.create_namespace("elsewhere")
    own = Client(as_operator_of_namespace(plane, AGENT, "nova", space))

    async def is_allowed() -> bool:
        try:
            return [page async for page in own.list_pages(NODE)] != []
        except errors.Forbidden:
            return False

    await eventually(is_allowed, "the roles are in force")
    for key in (Key(elsewhere, "any"), Key("kube-system", "any")):
        with pytest.raises(errors.Forbidden):
            await own.get(SECRET, key)
    with pytest.raises(errors.NotFound):
        await own.get(SECRET, Key(space, "any"))
    with pytest.raises(errors.Forbidden):
        _ = [page async for page in own.list_pages(SECRET)]
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": elsewhere},
    }
    with pytest.raises(errors.Forbidden):
        await own.create(SECRET, body)
    await own.close()
