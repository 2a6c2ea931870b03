"""Ceph's kinds on simulated nodes, with a simulated Ceph."""

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
from tests.support import ceph, simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import FaultTransport
from tests.support.operating import eventually, read
from tests.support.providers import (
    RunningProviders,
    condition,
    content,
    install,
    message,
    running_providers,
    validate,
)
from tests.support.rights import as_provider

PARTS = ((CEPH_CLUSTER, "rook-ceph"), (CEPH_BLOCK_POOL, "images"), (CEPH_CLIENT, "glance"))


class Scenario:
    """A namespace with a running provider and a simulated Ceph."""

    def __init__(self, client: Client, namespace: str, peer: ceph.SimulatedCeph) -> None:
        self.client = client
        self.namespace = namespace
        self.ceph = peer

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def make(self, **spec: Any) -> None:
        for claim in ("rook-ceph-mon-a", "rook-ceph-osd-0"):
            await simulated_volumes.offer(self.client, self.key(claim), size="10Gi")
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
async def fault_transport(simulated_control_plane: ControlPlaneHarness) -> FaultTransport:
    return FaultTransport(as_provider(simulated_control_plane, "rook-provider"))


@pytest.fixture
async def scenario(
    simulated_control_plane: ControlPlaneHarness, simulated_client: Client
) -> Scenario:
    namespace = simulated_control_plane.create_namespace("rook")
    peer = ceph.SimulatedCeph()
    await install(simulated_client, ceph.provider(peer))
    return Scenario(simulated_client, namespace, peer)


@pytest.fixture
async def running(
    scenario: Scenario, fault_transport: FaultTransport
) -> AsyncIterator[RunningProviders]:
    async with running_providers(fault_transport, ceph.provider(scenario.ceph)) as found:
        yield found


async def test_a_cluster_reports_as_rook_does(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make(cephConfig={"global": {"mon_max_pg_per_osd": "500"}})
    await eventually(scenario.all_ready, "all Ready")

    found = await scenario.get(CEPH_CLUSTER, "rook-ceph")
    validate(CEPH_CLUSTER, found)
    status = found["status"]
    assert (status["state"], status["message"]) == ("Created", "Cluster created successfully")
    assert status["ceph"]["health"] == "HEALTH_OK"
    assert status["version"] == {"image": ceph.IMAGE, "version": "16.2.15-0"}
    assert [(c["type"], c["reason"]) for c in status["conditions"]] == [
        ("Ready", "ClusterCreated")
    ]
    assert scenario.ceph.settings["global", "mon_max_pg_per_osd"] == "500"

    identity = await content(scenario.client, scenario.key("rook-ceph-mon")) or {}
    assert identity["fsid"] == status["ceph"]["fsid"]
    address = (await scenario.get(SERVICE, "rook-ceph-mon-a"))["spec"]["clusterIP"]
    endpoints = await scenario.get(CONFIG_MAP, "rook-ceph-mon-endpoints")
    assert endpoints["data"]["data"] == f"a={address}:6789"
    config = await content(scenario.client, scenario.key("rook-ceph-config")) or {}
    assert config["mon_host"] == f"[v2:{address}:3300,v1:{address}:6789]"


async def test_pools_and_users_are_reported_as_rook_does(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    pool = await scenario.get(CEPH_BLOCK_POOL, "images")
    validate(CEPH_BLOCK_POOL, pool)
    assert pool["status"]["poolID"] == 1
    assert "1 of 3 copies" in pool["status"]["conditions"][0]["message"]
    user = await scenario.get(CEPH_CLIENT, "glance")
    validate(CEPH_CLIENT, user)
    assert user["status"]["info"] == {"secretName": "rook-ceph-client-glance"}
    secret = await content(scenario.client, scenario.key("rook-ceph-client-glance")) or {}
    assert secret["glance"] == "key-of-client.glance"


async def test_a_converged_cluster_makes_no_request(
    scenario: Scenario, running: RunningProviders, fault_transport: FaultTransport
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    await eventually(running.is_idle, "at rest")
    calls, asked = len(fault_transport.calls), scenario.ceph.asked
    for controller, (_, name) in zip(running.controllers, PARTS, strict=False):
        controller.queue.add(scenario.key(name))
    await eventually(running.is_idle, "at rest again")
    assert (len(fault_transport.calls), scenario.ceph.asked) == (calls, asked)


async def test_no_key_is_in_a_pod_template_or_a_config_map(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    identity = await content(scenario.client, scenario.key("rook-ceph-mon")) or {}
    secrets = [value for name, value in identity.items() if name.endswith("secret")]
    assert len(secrets) == 4
    shown = [
        await scenario.get(CONFIG_MAP, "rook-ceph-lab"),
        *[await scenario.get(DEPLOYMENT, f"rook-ceph-{each}") for each in ("mon-a", "osd-0")],
    ]
    assert not [value for value in secrets if value in str(shown)]


async def test_the_next_cluster_uses_the_data_of_a_deleted_one(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    before = await content(scenario.client, scenario.key("rook-ceph-mon"))
    scenario.ceph.images["images"] = ["disk"]

    await scenario.client.delete(CEPH_CLUSTER, scenario.key("rook-ceph"))

    async def is_blocked() -> bool:
        found = await condition(
            scenario.client, CEPH_CLUSTER, scenario.key("rook-ceph"), "DeletionIsBlocked"
        )
        return found == ("True", "ObjectHasDependents")

    await eventually(is_blocked, "blocked by its dependents")
    await scenario.client.delete(CEPH_BLOCK_POOL, scenario.key("images"))
    await scenario.client.delete(CEPH_CLIENT, scenario.key("glance"))
    await eventually(scenario.gone(CEPH_CLUSTER, "rook-ceph"), "the cluster is deleted")
    await eventually(scenario.gone(CONFIG_MAP, "rook-ceph-lab"), "its children go")
    assert "images" in scenario.ceph.pools
    assert await scenario.get(PERSISTENT_VOLUME_CLAIM, "rook-ceph-osd-0")

    for kind, obj in (
        (CEPH_CLUSTER, objects.a_cluster(scenario.namespace)),
        (CEPH_BLOCK_POOL, objects.a_pool(scenario.namespace)),
        (CEPH_CLIENT, objects.a_user(scenario.namespace)),
    ):
        await scenario.client.create(kind, obj)
    await eventually(scenario.all_ready, "all Ready again")
    assert await content(scenario.client, scenario.key("rook-ceph-mon")) == before


async def test_a_pool_with_images_is_not_deleted(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    scenario.ceph.images["images"] = ["disk"]
    await scenario.client.delete(CEPH_BLOCK_POOL, scenario.key("images"))

    async def is_blocked() -> bool:
        found = await condition(
            scenario.client, CEPH_BLOCK_POOL, scenario.key("images"), "DeletionIsBlocked"
        )
        return found == ("True", "PoolNotEmpty")

    await eventually(is_blocked, "a pool with images stays")
    assert "images" in scenario.ceph.pools
    force = {"metadata": {"annotations": {"rook.io/force-deletion": "true"}}}
    await scenario.client.patch(CEPH_BLOCK_POOL, scenario.key("images"), force)
    await eventually(scenario.gone(CEPH_BLOCK_POOL, "images"), "a forced one is deleted")
    assert "images" not in scenario.ceph.pools


async def test_an_unreachable_cluster_is_unhealthy_and_stays_ready(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    scenario.ceph.silent = True
    restart = {"spec": {"template": {"metadata": {"annotations": {"again": "1"}}}}}
    await scenario.client.patch(DEPLOYMENT, scenario.key("rook-ceph-mgr-a"), restart)

    async def health() -> str:
        return str((await scenario.get(CEPH_CLUSTER, "rook-ceph"))["status"]["ceph"]["health"])

    async def is_unhealthy() -> bool:
        return await health() == "HEALTH_ERR"

    await eventually(is_unhealthy, "HEALTH_ERR")
    found = (await scenario.get(CEPH_CLUSTER, "rook-ceph"))["status"]
    assert found["phase"] == "Ready"
    assert found["ceph"]["previousHealth"] == "HEALTH_OK"
    scenario.ceph.silent = False

    async def is_healthy() -> bool:
        return await health() == "HEALTH_OK"

    await eventually(is_healthy, "HEALTH_OK again")


async def test_refusals_are_reported(scenario: Scenario, running: RunningProviders) -> None:
    await scenario.make()
    await scenario.client.create(CEPH_CLUSTER, objects.a_cluster(scenario.namespace, "second"))
    nonsense = {"nonsense": "1"}
    await scenario.client.create(
        CEPH_BLOCK_POOL, objects.a_pool(scenario.namespace, "odd", parameters=nonsense)
    )
    chunks = {"dataChunks": 2, "codingChunks": 1}
    coded = objects.a_pool(scenario.namespace, "coded", erasureCoded=chunks)
    del coded["spec"]["replicated"]
    await scenario.client.create(CEPH_BLOCK_POOL, coded)
    await scenario.client.create(CEPH_CLIENT, objects.a_user(scenario.namespace, "admin"))
    await scenario.client.create(CEPH_FILESYSTEM, objects.a_file_system(scenario.namespace))
    await scenario.client.create(CEPH_OBJECT_STORE, objects.an_object_store(scenario.namespace))
    failing = (
        (CEPH_CLUSTER, "second"),
        (CEPH_BLOCK_POOL, "odd"),
        (CEPH_BLOCK_POOL, "coded"),
        (CEPH_CLIENT, "admin"),
        (CEPH_FILESYSTEM, "shared"),
        (CEPH_OBJECT_STORE, "s3"),
    )

    async def all_refused() -> bool:
        return all([await scenario.phase(kind, name) == "Failure" for kind, name in failing])

    await eventually(all_refused, "all refused")
    await eventually(scenario.all_ready, "the others are not harmed")
    for kind, name in failing:
        validate(kind, await scenario.get(kind, name))
    second = await scenario.get(CEPH_CLUSTER, "second")
    assert "a namespace has one CephCluster" in second["status"]["message"]
    report = await message(scenario.client, CEPH_BLOCK_POOL, scenario.key("odd"))
    assert "invalid variable: 'nonsense'" in report
    for kind, name in ((CEPH_FILESYSTEM, "shared"), (CEPH_OBJECT_STORE, "s3")):
        assert await condition(scenario.client, kind, scenario.key(name)) == (
            "False",
            "UnsupportedInLab",
        )
    reserved = (await scenario.get(CEPH_CLIENT, "admin"))["status"]["info"]["error"]
    assert "reserved" in reserved


async def test_missing_keys_of_kept_data_are_reported(
    scenario: Scenario, running: RunningProviders
) -> None:
    await scenario.make()
    await eventually(scenario.all_ready, "all Ready")
    await scenario.client.delete(SECRET, scenario.key("rook-ceph-mon"))

    async def is_reported() -> bool:
        found = (await scenario.get(CEPH_CLUSTER, "rook-ceph"))["status"]
        return found["phase"] == "Failure" and "restore the Secret" in found["message"]

    await eventually(is_reported, "the loss is report")
