"""Leader election: one replica works, the others wait with warm caches.

The holder renews its Lease; whoever sees it unchanged for its whole duration (on the own clock, so
that clocks need not agree) takes it. A holder that cannot renew in time stops before others start.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from cobaltcore.runtime import errors, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.metrics import LEADER

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")

_log = log.get("lease")


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast a dead leader is replaced, and how long a cut-off one may go on."""

    duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=2)


class Election:
    """Candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        key: Key,
        *,
        identity: str,
        timing: Timing | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._key = key
        self._identity = identity
        self._timing = timing or Timing()
        self._clock = clock or SystemClock()
        self._seen: tuple[str, float] = ("", 0.0)
        self._holder = ""
        self.held = False
        self._gauge = LEADER.labels(str(key))

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease and work while holding it; return when the work is done or lost."""
        while not await self._try("acquire"):
            await self._clock.sleep(self._timing.retry.total_seconds())
        _log.info("leading", lease=str(self._key), identity=self._identity)
        self.held = True
        self._gauge.set(1)
        worker = asyncio.ensure_future(work())
        keeper = asyncio.ensure_future(self._keep())
        try:
            await asyncio.wait({worker, keeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.held = False
            self._gauge.set(0)
            await _finish(keeper)
            await _finish(worker)
            await self._release()
        if worker.cancelled():
            _log.warning("lease lost", lease=str(self._key))
        else:
            worker.result()

    async def _keep(self) -> None:
        """Renew until that fails for too long."""
        renewed = self._clock.monotonic()
        while self._clock.monotonic() - renewed < self._timing.renew_deadline.total_seconds():
            await self._clock.sleep(self._timing.retry.total_seconds())
            if await self._try("renew"):
                renewed = self._clock.monotonic()
            elif self._held_by_another():
                return

    async def _try(self, what: str) -> bool:
        try:
            async with asyncio.timeout(self._timing.renew_deadline.total_seconds() / 2):
                return await self._take()
        except errors.Conflict:
            return False
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            _log.warning("lease not written", what=what, lease=str(self._key), error=str(error))
            return False

    async def _take(self) -> bool:
        try:
            lease = await self._client.get(LEASE, self._key)
        except errors.NotFound:
            await self._client.create(LEASE, self._lease({"spec": {}}))
            return True
        self._observe(lease)
        if not self._may_take(lease["spec"]):
            return False
        await self._client.replace(LEASE, {**lease, **self._lease(lease)})
        return True

    def _observe(self, lease: Object) -> None:
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, self._clock.monotonic())
        self._holder = lease["spec"].get("holderIdentity") or ""

    def _held_by_another(self) -> bool:
        return self._holder not in ("", self._identity)

    def _may_take(self, spec: Object) -> bool:
        if not self._held_by_another():
            return True
        duration = spec.get("leaseDurationSeconds") or self._timing.duration.total_seconds()
        return self._clock.monotonic() - self._seen[1] > duration

    def _lease(self, lease: Object) -> Object:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = lease["spec"]
        changed_hands = spec.get("holderIdentity") != self._identity
        meta = lease.get("metadata") or {
            "name": self._key.name,
            "namespace": self._key.namespace,
        }
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": meta,
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": int(self._timing.duration.total_seconds()),
                "acquireTime": now if changed_hands else spec.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": spec.get("leaseTransitions", 0) + changed_hands,
            },
        }

    async def _release(self) -> None:
        """Let a successor start at once instead of after the lease's duration."""
        try:
            lease = await self._client.get(LEASE, self._key)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"]["holderIdentity"] = ""
                await self._client.replace(LEASE, lease)
        except (errors.ApiError, errors.Unreachable) as error:
            _log.warning("cannot release lease", lease=str(self._key), error=error.message)


async def _finish(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
