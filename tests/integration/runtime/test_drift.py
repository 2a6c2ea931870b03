from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cobaltcore.runtime.apply import Applier, ResourceConflict
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Desired, Key
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, operating, transport
from tests.support.sample import CONFIG_MAP, DEPLOYMENT, SAMPLE, SECRET
from tests.support.scenario import Life


async def test_changes_behind_the_operators_back_are_undone(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, "drift")
    async with operating(wire, namespace=namespace, ledger=ledger):
        await eventually(life.is_created, "the sample is created")
        child = Key(namespace, f"{life.name}-message")
        await client.patch(CONFIG_MAP, child, {"data": {"message": "vandalised"}})
        await eventually(life.is_created, "the field is set again")
        await client.delete(DEPLOYMENT, Key(namespace, f"{life.name}-main"))
        await eventually(life.is_created, "the child is recreated")


async def test_fields_of_others_are_left_alone(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, "drift")
    async with operating(wire, namespace=namespace, ledger=ledger):
        await eventually(life.is_created, "the sample is created")
        child = Key(namespace, f"{life.name}-message")
        await client.patch(CONFIG_MAP, child, {"data": {"theirs": "kept"}})
        await life.change()
        await eventually(life.is_changed, "the sample is changed")
        found = await client.get(CONFIG_MAP, child)
        assert found["data"] == {"message": "bye", "theirs": "kept"}


async def test_a_changed_secret_wakes_its_user(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, "drift")
    async with operating(wire, namespace=namespace, ledger=ledger):
        await eventually(life.is_created, "the sample is created")
        before = await _secret_digest(client, life)
        await client.patch(SECRET, Key(namespace, "input"), {"stringData": {"key": "new"}})

        async def noticed() -> bool:
            return await _secret_digest(client, life) != before

        await eventually(noticed, "the status reports the new content")


async def test_a_field_that_is_no_longer_wanted_is_released(
    control_plane: ControlPlaneHarness, namespace: str
) -> None:
    async with _applying(control_plane) as (cluster, applier):
        meta = {"name": "fields", "namespace": namespace}
        await applier.apply(
            [Desired(CONFIG_MAP, {"metadata": meta, "data": {"a": "1", "b": "2"}})]
        )
        await applier.apply([Desired(CONFIG_MAP, {"metadata": meta, "data": {"a": "1"}})])
        found = await cluster.client.get(CONFIG_MAP, Key(namespace, "fields"))
        assert found["data"] == {"a": "1"}


@pytest.mark.parametrize("cached", [True, False], ids=["seen in the cache", "not cached"])
async def test_an_object_of_somebody_else_is_not_adopted(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, cached: bool
) -> None:
    theirs = {"metadata": {"name": "taken", "namespace": namespace}, "data": {"a": "theirs"}}
    created = await client.create(CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", **theirs})
    async with _applying(control_plane) as (cluster, applier):
        if cached:
            cluster.observe(CONFIG_MAP, created)
        ours = {"metadata": theirs["metadata"], "data": {"a": "ours"}}
        with pytest.raises(ResourceConflict, match="taken"):
            await applier.apply([Desired(CONFIG_MAP, ours)])
    found = await client.get(CONFIG_MAP, Key(namespace, "taken"))
    assert found["data"] == {"a": "theirs"}


async def _secret_digest(client: Client, life: Life) -> str:
    found = await client.get(SAMPLE, life.key)
    return str(found["status"].get("secretDigest"))


@asynccontextmanager
async def _applying(plane: ControlPlaneHarness) -> AsyncIterator[tuple[Cluster, Applier]]:
    cluster = Cluster(Client(transport(plane, "applier")))
    yield cluster, Applier(cluster, manager="applier")
    await cluster.client.close()
