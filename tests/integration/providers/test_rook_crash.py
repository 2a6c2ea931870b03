"""The provider dies at each of its calls in turn, to the API server or to Ceph; the next finishes."""

from dataclasses import dataclass

import pytest

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, PERSISTENT_VOLUME_CLAIM, SECRET
from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    DESTROY_DATA,
)
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from tests.integration.providers import ceph_objects as objects
from tests.support import ceph
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, When
from tests.support.operating import read
from tests.support.providers import Step, content, converges_despite_crash, install


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A cluster with a pool and a user, from their making to their end."""

    client: Client
    ceph: ceph.SimulatedCeph
    namespace: str

    @property
    def steps(self) -> list[Step]:
        return [
            (self.create, self.is_created),
            (self.change, self.is_changed),
            (self.remove, self.is_removed),
            (self.end, self.is_ended),
        ]

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def create(self) -> None:
        # The deletion waits for the dependents of the cluster.
        await self.client.create(CEPH_CLIENT, objects.a_user(self.namespace))
        await self.client.create(CEPH_BLOCK_POOL, objects.a_pool(self.namespace))
        cleanup = {"confirmation": DESTROY_DATA}
        await self.client.create(
            CEPH_CLUSTER, objects.a_cluster(self.namespace, cleanupPolicy=cleanup)
        )

    async def is_created(self) -> bool:
        secret = await content(self.client, self.key("rook-ceph-client-glance"))
        return (
            secret
            == dict.fromkeys(("glance", "userKey"), "key-of-client.glance") | {"userID": "glance"}
            and "images" in self.ceph.pools
            and await self._are_ready()
        )

    async def change(self) -> None:
        caps = {"caps": {"osd": "profile rbd-read-only"}}
        await self.client.patch(CEPH_CLIENT, self.key("glance"), {"spec": caps})
        quota = {"quotas": {"maxSize": "1Gi"}}
        await self.client.patch(CEPH_BLOCK_POOL, self.key("images"), {"spec": quota})

    async def is_changed(self) -> bool:
        caps = self.ceph.users["client.glance"]["caps"]
        return (
            caps == {"mon": "profile rbd", "osd": "profile rbd-read-only"}
            and self.ceph.pools["images"].get("quota_max_bytes") == 1 << 30
            and await self._are_ready()
        )

    async def remove(self) -> None:
        await self.client.delete(CEPH_CLIENT, self.key("glance"))
        await self.client.delete(CEPH_BLOCK_POOL, self.key("images"))

    async def is_removed(self) -> bool:
        return (
            await self._is_gone(CEPH_CLIENT, "glance")
            and await self._is_gone(CEPH_BLOCK_POOL, "images")
            and not self.ceph.users
            and not self.ceph.pools
        )

    async def end(self) -> None:
        await self.client.delete(CEPH_CLUSTER, self.key("rook-ceph"))

    async def is_ended(self) -> bool:
        deleted = [
            await self._is_gone(DEPLOYMENT, f"rook-ceph-{daemon}")
            for daemon in ("mon-a", "mgr-a", "osd-0")
        ]
        claims = [
            await self._is_gone(PERSISTENT_VOLUME_CLAIM, name)
            for name in ("rook-ceph-mon-a", "rook-ceph-osd-0")
        ]
        return (
            await self._is_gone(CEPH_CLUSTER, "rook-ceph")
            and await self._is_gone(SECRET, "rook-ceph-mon")
            and all(deleted)
            and all(claims)
        )

    async def _are_ready(self) -> bool:
        parts = ((CEPH_CLUSTER, "rook-ceph"), (CEPH_BLOCK_POOL, "images"), (CEPH_CLIENT, "glance"))
        for kind, name in parts:
            found = await self.client.get(kind, self.key(name))
            status = found.get("status") or {}
            current = status.get("observedGeneration") == found["metadata"]["generation"]
            if status.get("phase") != "Ready" or not current:
                return False
        return True

    async def _is_gone(self, kind: Kind, name: str) -> bool:
        """Deleted, or held only by a finalizer that no controller of this test removes."""
        found = await read(self.client, kind, self.key(name))
        if found is None:
            return True
        held = found["metadata"].get("finalizers")
        return "deletionTimestamp" in found["metadata"] and held == [
            "kubernetes.io/pvc-protection"
        ]


async def _crashes(
    plane: ControlPlaneHarness, client: Client, to_kubernetes: CrashPoint, to_ceph: CrashPoint
) -> bool:
    peer = ceph.SimulatedCeph(crash=to_ceph)
    lifecycle = Lifecycle(client, peer, plane.create_namespace("crash"))
    async with ceph.simulated_deployments(client, lifecycle.namespace):
        return await converges_despite_crash(
            plane, lifecycle.steps, ceph.provider(peer), to_kubernetes
        )


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    control_plane: ControlPlaneHarness, client: Client, when: When
) -> None:
    await install(client, ceph.provider(ceph.SimulatedCeph()))
    call = 1
    while await _crashes(control_plane, client, CrashPoint(call, when), CrashPoint()):
        call += 1
    assert call > 40, "a whole lifecycle takes more calls than that"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_call_to_ceph_converges(
    control_plane: ControlPlaneHarness, client: Client, when: When
) -> None:
    await install(client, ceph.provider(ceph.SimulatedCeph()))
    call = 1
    while await _crashes(control_plane, client, CrashPoint(), CrashPoint(call, when)):
        call += 1
    assert call > 7, "a whole lifecycle asks Ceph more often than that"
