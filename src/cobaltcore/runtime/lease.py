"""Leader election: one replica works, the others wait with synced caches.

The holder renews its Lease; a replica that sees it unchanged for its whole duration (measured on
its own clock, so that clocks need not agree) acquires it. A holder works until the renew deadline,
which counts from before its last successful request: others count from after it and for longer, so
the holder has stopped before one of them starts. A fence refuses its writes from then on, also if
the process was stopped meanwhile and could not cancel its work in time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from cobaltcore.runtime import errors, fence, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.metrics import LEADER

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")

_log = log.get("lease")


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast a failed leader is replaced, and how long a partitioned one may continue."""

    duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if self.renew_deadline >= self.duration:
            raise ValueError(
                f"the renew deadline ({self.renew_deadline.total_seconds():g} s) must be shorter "
                f"than the lease ({self.duration.total_seconds():g} s)"
            )


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
        self._expires = 0.0
        self.held = False
        self._gauge = LEADER.labels(str(key))

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease and work while holding it; return when done or the lease is lost."""
        while not await self._try("acquire"):
            await self._clock.sleep(self._timing.retry.total_seconds())
        _log.info("leading", lease=str(self._key), identity=self._identity)
        self.held = True
        self._gauge.set(1)
        working = asyncio.ensure_future(self._fenced(work))
        renewing = asyncio.ensure_future(self._renew())
        expiring = asyncio.ensure_future(self._until_expired())
        try:
            await asyncio.wait({working, renewing, expiring}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.held = False
            self._gauge.set(0)
            for task in (working, renewing, expiring):
                await _cancel(task)
            await self._release()
        if working.cancelled():
            _log.warning("lease lost", lease=str(self._key))
        else:
            working.result()

    async def _fenced(self, work: Callable[[], Awaitable[None]]) -> None:
        with fence.writes_while(lambda: not self._expired()):
            await work()

    async def _renew(self) -> None:
        """Renew until another holds the lease; how long that may fail is not decided here."""
        while True:
            await self._clock.sleep(self._timing.retry.total_seconds())
            if not await self._try("renew") and self._held_by_another():
                return

    async def _until_expired(self) -> None:
        while not self._expired():
            await self._clock.sleep(self._expires - self._clock.monotonic())

    def _expired(self) -> bool:
        return self._clock.monotonic() >= self._expires

    async def _try(self, action: str) -> bool:
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._timing.renew_deadline.total_seconds() / 2):
                acquired = await self._acquire()
        except errors.Conflict:
            return False
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            _log.warning(
                "lease not written", action=action, lease=str(self._key), error=str(error)
            )
            return False
        if acquired:
            self._expires = started + self._timing.renew_deadline.total_seconds()
        return acquired

    async def _acquire(self) -> bool:
        try:
            lease = await self._client.get(LEASE, self._key)
        except errors.NotFound:
            await self._client.create(LEASE, self._lease({"spec": {}}))
            return True
        self._observe(lease)
        if not self._is_free(lease["spec"]):
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

    def _is_free(self, spec: Object) -> bool:
        if not self._held_by_another():
            return True
        duration = spec.get("leaseDurationSeconds") or self._timing.duration.total_seconds()
        return self._clock.monotonic() - self._seen[1] > duration

    def _lease(self, lease: Object) -> Object:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = lease["spec"]
        new_holder = spec.get("holderIdentity") != self._identity
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
                "acquireTime": now if new_holder else spec.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": spec.get("leaseTransitions", 0) + new_holder,
            },
        }

    async def _release(self) -> None:
        """Let another replica start at once instead of after the lease's duration."""
        try:
            async with asyncio.timeout(self._timing.renew_deadline.total_seconds() / 2):
                lease = await self._client.get(LEASE, self._key)
                if lease["spec"].get("holderIdentity") == self._identity:
                    lease["spec"]["holderIdentity"] = ""
                    await self._client.replace(LEASE, lease)
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            _log.warning("lease not released", lease=str(self._key), error=str(error))


async def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
