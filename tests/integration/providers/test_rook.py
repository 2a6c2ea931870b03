"""Ceph's kinds on played nodes, with a played Ceph behind the seam."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DEPLOYMENT,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
)
from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    CEPH_FILESYSTEM,
    CEPH_OBJECT_STORE,
)
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.integration.providers import ceph_objects as objects
from tests.support import ceph, played_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import FaultTransport
from tests.support.operating import eventually, read
from tests.support.providing import (
    Providing,
    condition,
    content,
    install,
    message,
    providing,
    validate,
)
from tests.support.rights import as_provider

PARTS = ((CEPH_CLUSTER, "rook-ceph"), (CEPH_BLOCK_POOL, "images"), (CEPH_CLIENT, "glance"))


class Scene:
    """A namespace with a running provider and a played Ceph."""

    def __init__(self, client: Client, namespace: str, peer: ceph.PlayedCeph) -> None:
        self.client = client
        self.namespace = namespace
        self.ceph = peer

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def make(self, **spec: Any) -> None:
        for claim in ("rook-ceph-mon-a", "rook-ceph-osd-0"):
            await played_volumes.offer(self.client, self.key(claim), size="10Gi")
        await self.client.create(CEPH_CLUSTER, objects.a_cluster(self.namespace, **spec))
        await self.client.create(CEPH_BLOCK_POOL, objects.a_pool(self.namespace))
        await self.client.create(CEPH_CLIENT, objects.a_user(self.namespace))

    async def get(self, kind: Kind, name: str) -> Object:
        return await self.client.get(kind, self.key(name))

    async def phase(self, kind: Kind, name: str) -> str:
        found = await read(self.client, kind, self.key(name))
        return str(((found or {}).get("status") or {}).get("phase", ""))

    async def all_ready(self) -> bool:
        return all([await self.phase(kind, name) == "Ready" for kind, name in PARTS])

    def gone(self, kind: Kind, name: str) -> Callable[[], Awaitable[bool]]:
        async def check() -> bool:
            return await read(self.client, kind, self.key(name)) is None

        return check


@pytest.fixture
async def wire(played_control_plane: ControlPlaneHarness) -> FaultTransport:
    return FaultTransport(as_provider(played_control_plane, "rook-provider"))


@pytest.fixture
async def scene(played_control_plane: ControlPlaneHarness, played_client: Client) -> Scene:
    namespace = played_control_plane.create_namespace("rook")
    peer = ceph.PlayedCeph()
    await install(played_client, ceph.provider(peer))
    return Scene(played_client, namespace, peer)


@pytest.fixture
async def running(scene: Scene, wire: FaultTransport) -> AsyncIterator[Providing]:
    async with providing(wire, ceph.provider(scene.ceph)) as found:
        yield found


async def test_a_cluster_comes_up_as_rook_reports_it(scene: Scene, running: Providing) -> None:
    await scene.make(cephConfig={"global": {"mon_max_pg_per_osd": "500"}})
    await eventually(scene.all_ready, "all Ready")

    found = await scene.get(CEPH_CLUSTER, "rook-ceph")
    validate(CEPH_CLUSTER, found)
    status = found["status"]
    assert (status["state"], status["message"]) == ("Created", "Cluster created successfully")
    assert status["ceph"]["health"] == "HEALTH_OK"
    assert status["version"] == {"image": ceph.IMAGE, "version": "16.2.15-0"}
    assert [(c["type"], c["reason"]) for c in status["conditions"]] == [
        ("Ready", "ClusterCreated")
    ]
    assert scene.ceph.settings["global", "mon_max_pg_per_osd"] == "500"

    identity = await content(scene.client, scene.key("rook-ceph-mon")) or {}
    assert identity["fsid"] == status["ceph"]["fsid"]
    address = (await scene.get(SERVICE, "rook-ceph-mon-a"))["spec"]["clusterIP"]
    endpoints = await scene.get(CONFIG_MAP, "rook-ceph-mon-endpoints")
    assert endpoints["data"]["data"] == f"a={address}:6789"
    config = await content(scene.client, scene.key("rook-ceph-config")) or {}
    assert config["mon_host"] == f"[v2:{address}:3300,v1:{address}:6789]"


async def test_pools_and_users_are_reported_as_rook_does(scene: Scene, running: Providing) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    pool = await scene.get(CEPH_BLOCK_POOL, "images")
    validate(CEPH_BLOCK_POOL, pool)
    assert pool["status"]["poolID"] == 1
    assert "1 of 3 copies" in pool["status"]["conditions"][0]["message"]
    user = await scene.get(CEPH_CLIENT, "glance")
    validate(CEPH_CLIENT, user)
    assert user["status"]["info"] == {"secretName": "rook-ceph-client-glance"}
    secret = await content(scene.client, scene.key("rook-ceph-client-glance")) or {}
    assert secret["glance"] == "key-of-client.glance"


async def test_a_pass_over_a_converged_cluster_asks_nobody(
    scene: Scene, running: Providing, wire: FaultTransport
) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    await eventually(running.rests, "at rest")
    calls, asked = len(wire.calls), scene.ceph.asked
    for controller, (_, name) in zip(running.controllers, PARTS, strict=False):
        controller.queue.add(scene.key(name))
    await eventually(running.rests, "at rest again")
    assert (len(wire.calls), scene.ceph.asked) == (calls, asked)


async def test_no_key_is_in_a_pod_template_or_a_config_map(
    scene: Scene, running: Providing
) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    identity = await content(scene.client, scene.key("rook-ceph-mon")) or {}
    secrets = [value for name, value in identity.items() if name.endswith("secret")]
    assert len(secrets) == 4
    shown = [
        await scene.get(CONFIG_MAP, "rook-ceph-lab"),
        *[await scene.get(DEPLOYMENT, f"rook-ceph-{each}") for each in ("mon-a", "osd-0")],
    ]
    assert not [value for value in secrets if value in str(shown)]


async def test_a_deleted_cluster_leaves_its_data_to_the_next(
    scene: Scene, running: Providing
) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    before = await content(scene.client, scene.key("rook-ceph-mon"))
    scene.ceph.images["images"] = ["disk"]

    await scene.client.delete(CEPH_CLUSTER, scene.key("rook-ceph"))

    async def is_blocked() -> bool:
        found = await condition(
            scene.client, CEPH_CLUSTER, scene.key("rook-ceph"), "DeletionIsBlocked"
        )
        return found == ("True", "ObjectHasDependents")

    await eventually(is_blocked, "held by what stands on it")
    await scene.client.delete(CEPH_BLOCK_POOL, scene.key("images"))
    await scene.client.delete(CEPH_CLIENT, scene.key("glance"))
    await eventually(scene.gone(CEPH_CLUSTER, "rook-ceph"), "the cluster goes")
    await eventually(scene.gone(CONFIG_MAP, "rook-ceph-lab"), "its children go")
    assert "images" in scene.ceph.pools
    assert await scene.get(PERSISTENT_VOLUME_CLAIM, "rook-ceph-osd-0")

    for kind, obj in (
        (CEPH_CLUSTER, objects.a_cluster(scene.namespace)),
        (CEPH_BLOCK_POOL, objects.a_pool(scene.namespace)),
        (CEPH_CLIENT, objects.a_user(scene.namespace)),
    ):
        await scene.client.create(kind, obj)
    await eventually(scene.all_ready, "all Ready again")
    assert await content(scene.client, scene.key("rook-ceph-mon")) == before


async def test_a_pool_with_images_stays_until_they_are_gone(
    scene: Scene, running: Providing
) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    scene.ceph.images["images"] = ["disk"]
    await scene.client.delete(CEPH_BLOCK_POOL, scene.key("images"))

    async def is_blocked() -> bool:
        found = await condition(
            scene.client, CEPH_BLOCK_POOL, scene.key("images"), "DeletionIsBlocked"
        )
        return found == ("True", "PoolNotEmpty")

    await eventually(is_blocked, "a pool with images stays")
    assert "images" in scene.ceph.pools
    force = {"metadata": {"annotations": {"rook.io/force-deletion": "true"}}}
    await scene.client.patch(CEPH_BLOCK_POOL, scene.key("images"), force)
    await eventually(scene.gone(CEPH_BLOCK_POOL, "images"), "a forced one goes")
    assert "images" not in scene.ceph.pools


async def test_a_cluster_that_stops_answering_is_ill_and_stays_created(
    scene: Scene, running: Providing
) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    scene.ceph.silent = True
    restart = {"spec": {"template": {"metadata": {"annotations": {"again": "1"}}}}}
    await scene.client.patch(DEPLOYMENT, scene.key("rook-ceph-mgr-a"), restart)

    async def health() -> str:
        return str((await scene.get(CEPH_CLUSTER, "rook-ceph"))["status"]["ceph"]["health"])

    async def is_ill() -> bool:
        return await health() == "HEALTH_ERR"

    await eventually(is_ill, "HEALTH_ERR")
    found = (await scene.get(CEPH_CLUSTER, "rook-ceph"))["status"]
    assert found["phase"] == "Ready"
    assert found["ceph"]["previousHealth"] == "HEALTH_OK"
    scene.ceph.silent = False

    async def is_well() -> bool:
        return await health() == "HEALTH_OK"

    await eventually(is_well, "HEALTH_OK again")


async def test_refusals_are_told(scene: Scene, running: Providing) -> None:
    await scene.make()
    await scene.client.create(CEPH_CLUSTER, objects.a_cluster(scene.namespace, "second"))
    nonsense = {"nonsense": "1"}
    await scene.client.create(
        CEPH_BLOCK_POOL, objects.a_pool(scene.namespace, "odd", parameters=nonsense)
    )
    chunks = {"dataChunks": 2, "codingChunks": 1}
    coded = objects.a_pool(scene.namespace, "coded", erasureCoded=chunks)
    del coded["spec"]["replicated"]
    await scene.client.create(CEPH_BLOCK_POOL, coded)
    await scene.client.create(CEPH_CLIENT, objects.a_user(scene.namespace, "admin"))
    await scene.client.create(CEPH_FILESYSTEM, objects.a_file_system(scene.namespace))
    await scene.client.create(CEPH_OBJECT_STORE, objects.an_object_store(scene.namespace))
    failing = (
        (CEPH_CLUSTER, "second"),
        (CEPH_BLOCK_POOL, "odd"),
        (CEPH_BLOCK_POOL, "coded"),
        (CEPH_CLIENT, "admin"),
        (CEPH_FILESYSTEM, "shared"),
        (CEPH_OBJECT_STORE, "s3"),
    )

    async def all_refused() -> bool:
        return all([await scene.phase(kind, name) == "Failure" for kind, name in failing])

    await eventually(all_refused, "all refused")
    await eventually(scene.all_ready, "the others are not harmed")
    for kind, name in failing:
        validate(kind, await scene.get(kind, name))
    second = await scene.get(CEPH_CLUSTER, "second")
    assert "a namespace has one CephCluster" in second["status"]["message"]
    told = await message(scene.client, CEPH_BLOCK_POOL, scene.key("odd"))
    assert "invalid variable: 'nonsense'" in told
    for kind, name in ((CEPH_FILESYSTEM, "shared"), (CEPH_OBJECT_STORE, "s3")):
        assert await condition(scene.client, kind, scene.key(name)) == ("False", "NotServedInLab")
    reserved = (await scene.get(CEPH_CLIENT, "admin"))["status"]["info"]["error"]
    assert "reserved" in reserved


async def test_lost_keys_of_kept_data_are_told(scene: Scene, running: Providing) -> None:
    await scene.make()
    await eventually(scene.all_ready, "all Ready")
    await scene.client.delete(SECRET, scene.key("rook-ceph-mon"))

    async def is_told() -> bool:
        found = (await scene.get(CEPH_CLUSTER, "rook-ceph"))["status"]
        return found["phase"] == "Failure" and "put the Secret back" in found["message"]

    await eventually(is_told, "the loss is told")
