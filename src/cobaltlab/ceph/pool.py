"""CephBlockPool: a pool of RBD images, which is not deleted while it has any."""

from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rook import CEPH_BLOCK_POOL, CephBlockPoolSpec, CephBlockPoolStatus
from cobaltcore.runtime.controller import Source, itself
from cobaltcore.runtime.meta import Condition, Key, Object, key_of
from cobaltlab.ceph import commands, poolspec
from cobaltlab.ceph.environment import Environment
from cobaltlab.providers.failures import RECONCILE_FAILED, Blocked, Failure, Waiting
from cobaltlab.providers.reconciler import Reconciler, is_deleting
from cobaltlab.providers.servers import UNSUPPORTED

FORCE_DELETION = "rook.io/force-deletion"
OSD_TIMEOUT = timedelta(seconds=5)
REQUEUE = timedelta(seconds=1)
_NO_SUCH_POOL = -2


class CephBlockPoolReconciler(Reconciler):
    """The controller of CephBlockPools."""

    finalizer = "cephblockpool.ceph.rook.io"
    observes_generation = False

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._verified: dict[Key, str] = {}
        super().__init__(
            environment.context,
            CEPH_BLOCK_POOL,
            [Source(CEPH_BLOCK_POOL, itself), *environment.watches(CEPH_BLOCK_POOL)],
            component="rook-ceph-block-pool-controller",
        )

    def forget(self, key: Key) -> None:
        self._verified.pop(key, None)

    async def apply(self, live: Object) -> timedelta | None:
        key, spec = key_of(live), manifest.spec_of(live, CephBlockPoolSpec)
        unsupported = poolspec.unsupported(spec)
        if unsupported:
            raise Blocked(unsupported, reason=UNSUPPORTED)
        if not self._environment.is_reachable(key.namespace):
            await self._wait(
                live, f"waiting for the monitor of a CephCluster in namespace {key.namespace!r}"
            )
            return None
        fingerprint = self._environment.fingerprint(live)
        if self._verified.get(key) == fingerprint:
            return None
        return await self._create(live, spec, fingerprint)

    async def _create(
        self, live: Object, spec: CephBlockPoolSpec, fingerprint: str
    ) -> timedelta | None:
        """Create or update the pool."""
        key, name = key_of(live), _name(live, spec)
        live = await self.hold(live)
        requests = poolspec.creation(name)
        ceph = self._environment.ceph
        response = await ceph.execute(key.namespace, requests, until="up", wait_for=OSD_TIMEOUT)
        if not response.results:
            await self._wait(live, "waiting for an OSD")
            return REQUEUE
        pool = poolspec.find(name, commands.expect(requests, response)[-1].output) or {}
        changes = poolspec.changes(name, spec, pool)
        if changes:
            commands.expect(changes, await ceph.execute(key.namespace, changes))
        message = poolspec.reduction(spec)
        await self._report(
            live, "Ready", "ReconcileSucceeded", message, pool_id=pool.get("pool_id")
        )
        self._verified[key] = fingerprint
        return None

    async def teardown(self, live: Object) -> bool:
        """Delete an empty pool; while its cluster is being deleted, too, it stays in the data."""
        namespace = live["metadata"]["namespace"]
        cluster = self._environment.cluster_of(namespace)
        if cluster is None or is_deleting(cluster):
            return True
        if not self._environment.is_reachable(namespace):
            raise Waiting("the monitor is not available")
        await self._delete(live)
        return True

    async def _delete(self, live: Object) -> None:
        key, name = key_of(live), _name(live, manifest.spec_of(live, CephBlockPoolSpec))
        ceph = self._environment.ceph
        response = await ceph.execute(key.namespace, [commands.list_images(name)])
        images = response.results[0]
        if images.code == _NO_SUCH_POOL:
            return
        if images.code:
            raise Waiting(images.message, after=commands.RETRY)
        forced = (live["metadata"].get("annotations") or {}).get(FORCE_DELETION) == "true"
        if images.output and not forced:
            # Whether a pool is empty cannot be watched.
            raise Waiting(
                f"it has {len(images.output)} images, for example {min(images.output)!r}",
                after=commands.RETRY,
            )
        requests = [poolspec.deletion(name)]
        commands.expect(requests, await ceph.execute(key.namespace, requests))

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        if is_deleting(live):
            return await self._report_blocked(live, failure.message)
        reason = failure.reason or RECONCILE_FAILED
        return await self._report(live, "Failure", reason, failure.message)

    async def _wait(self, live: Object, message: str) -> None:
        before = manifest.status_of(live, CephBlockPoolStatus)
        if before.phase != "Ready":
            await self._report(live, "Progressing", "ReconcileStarted", message)

    async def _report_blocked(self, live: Object, cause: str) -> bool:
        message = (
            f"the pool is not deleted: {cause}. Delete the images, or set the annotation "
            f"{FORCE_DELETION}=true to delete them with it"
        )
        blocked = Condition(
            type="DeletionIsBlocked", status="True", reason="PoolNotEmpty", message=message
        )
        before = manifest.status_of(live, CephBlockPoolStatus)
        after = msgspec.structs.replace(
            before, phase="Deleting", conditions=self.merged(live, [blocked])
        )
        return await self.write_status(live, after)

    async def _report(
        self,
        live: Object,
        phase: str,
        reason: str,
        message: str,
        *,
        pool_id: int | None = None,
    ) -> bool:
        before = manifest.status_of(live, CephBlockPoolStatus)
        ready = Condition(
            type="Ready",
            status="True" if phase == "Ready" else "False",
            reason=reason,
            message=message,
        )
        after = CephBlockPoolStatus(
            phase=phase,
            info={"type": "Replicated", "failureDomain": "osd"} if phase == "Ready" else {},
            conditions=self.merged(live, [ready]),
            observed_generation=live["metadata"]["generation"],
            pool_id=pool_id if pool_id is not None else before.pool_id,
        )
        return await self.write_status(live, after)


def _name(live: Object, spec: CephBlockPoolSpec) -> str:
    return spec.name or str(live["metadata"]["name"])
