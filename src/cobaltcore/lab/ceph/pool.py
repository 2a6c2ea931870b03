"""CephBlockPool: a pool of block images, which is not removed as long as there are any."""

from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rook import CEPH_BLOCK_POOL, CephBlockPoolSpec, CephBlockPoolStatus
from cobaltcore.lab.ceph import commands, poolspec
from cobaltcore.lab.ceph.commands import Refused
from cobaltcore.lab.ceph.surroundings import Surroundings, is_going
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import finalizers, status
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.meta import Condition, Key, Object, key_of

FINALIZER = "cephblockpool.ceph.rook.io"
FORCE_DELETION = "rook.io/force-deletion"
WAIT_FOR_OSD = timedelta(seconds=5)
LOOK_AGAIN = timedelta(seconds=1)
# Whether a pool is empty cannot be watched, and why Ceph refuses something neither.
ASK_AGAIN = timedelta(seconds=15)
_NO_SUCH_POOL = -2


class Pools:
    """The controller of CephBlockPools."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._cluster = around.setting.cluster
        self._verified: dict[Key, str] = {}
        self.controller = Controller(
            "cephblockpool",
            self.reconcile,
            [Source(CEPH_BLOCK_POOL, itself), *around.wakes(CEPH_BLOCK_POOL)],
            clock=around.setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Make the pool, or remove it."""
        live = self._cluster.informer(CEPH_BLOCK_POOL).get(key)
        if live is None:
            self._verified.pop(key, None)
            return None
        if is_going(live):
            return await self._remove(live)
        return await self._keep(live)

    async def _keep(self, live: Object) -> timedelta | None:
        key, spec = key_of(live), manifest.spec_of(live, CephBlockPoolSpec)
        unserved = poolspec.unserved(spec)
        if unserved:
            await self._report(live, "Failure", "NotServedInLab", unserved)
            return None
        if not self._around.is_reachable(key.namespace):
            return await self._wait(live, "waits for the monitor of a CephCluster beside it")
        seen = self._around.fingerprint(live)
        if self._verified.get(key) == seen:
            return None
        return await self._make(live, spec, seen)

    async def _make(self, live: Object, spec: CephBlockPoolSpec, seen: str) -> timedelta | None:
        key, name = key_of(live), _name(live, spec)
        live = await finalizers.add(self._cluster, CEPH_BLOCK_POOL, live, FINALIZER)
        wanted = poolspec.creation(name)
        try:
            report = await self._around.ceph.ask(
                key.namespace, wanted, until="up", patience=WAIT_FOR_OSD
            )
            if not report.answers:
                await self._wait(live, "waits for an OSD")
                return LOOK_AGAIN
            found = poolspec.find(name, commands.expect(wanted, report)[-1].output) or {}
            changes = poolspec.changes(name, spec, found)
            if changes:
                commands.expect(changes, await self._around.ceph.ask(key.namespace, changes))
        except Refused as error:
            await self._report(live, "Failure", "ReconcileFailed", error.message)
            return ASK_AGAIN
        message = poolspec.reduction(spec)
        await self._report(
            live, "Ready", "ReconcileSucceeded", message, pool_id=found.get("pool_id")
        )
        self._verified[key] = seen
        return None

    async def _remove(self, live: Object) -> timedelta | None:
        """Remove the pool if it is empty; one whose cluster goes, too, stays in the data of that."""
        key = key_of(live)
        if not finalizers.present(live, FINALIZER):
            return None
        cluster = self._around.cluster_of(key.namespace)
        if cluster is not None and not is_going(cluster):
            if not self._around.is_reachable(key.namespace):
                return await self._block(live, "the monitor does not run")
            left = await self._remove_from_ceph(live)
            if left:
                await self._block(live, left)
                return ASK_AGAIN
        await finalizers.remove(self._cluster, CEPH_BLOCK_POOL, live, FINALIZER)
        return None

    async def _remove_from_ceph(self, live: Object) -> str:
        """Remove the pool; return why it cannot be, or nothing."""
        key, name = key_of(live), _name(live, manifest.spec_of(live, CephBlockPoolSpec))
        report = await self._around.ceph.ask(key.namespace, [commands.list_images(name)])
        answer = report.answers[0]
        if answer.code == _NO_SUCH_POOL:
            return ""
        if answer.code:
            return answer.message
        forced = (live["metadata"].get("annotations") or {}).get(FORCE_DELETION) == "true"
        if answer.output and not forced:
            return f"it has {len(answer.output)} images, for example {min(answer.output)!r}"
        wanted = [poolspec.deletion(name)]
        refused = commands.refusal(wanted, await self._around.ceph.ask(key.namespace, wanted))
        return refused.message if refused else ""

    async def _wait(self, live: Object, message: str) -> timedelta | None:
        before = manifest.status_of(live, CephBlockPoolStatus)
        if before.phase != "Ready":
            await self._report(live, "Progressing", "ReconcileStarted", message)
        return None

    async def _block(self, live: Object, why: str) -> timedelta | None:
        message = (
            f"the pool is not removed: {why}. Remove the images, or set the annotation "
            f"{FORCE_DELETION}=true to remove them with it"
        )
        blocked = Condition(
            type="DeletionIsBlocked", status="True", reason="PoolNotEmpty", message=message
        )
        before = manifest.status_of(live, CephBlockPoolStatus)
        after = msgspec.structs.replace(
            before,
            phase="Deleting",
            conditions=self._around.merged(before.conditions, [blocked], live),
        )
        await self._write(live, after)
        return None

    async def _report(
        self,
        live: Object,
        phase: str,
        reason: str,
        message: str,
        *,
        pool_id: int | None = None,
    ) -> None:
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
            conditions=self._around.merged(before.conditions, [ready], live),
            observed_generation=live["metadata"]["generation"],
            pool_id=pool_id if pool_id is not None else before.pool_id,
        )
        await self._write(live, after)

    async def _write(self, live: Object, after: CephBlockPoolStatus) -> None:
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, CEPH_BLOCK_POOL, live, built, manager=provider.MANAGER)


def _name(live: Object, spec: CephBlockPoolSpec) -> str:
    return spec.name or str(live["metadata"]["name"])
