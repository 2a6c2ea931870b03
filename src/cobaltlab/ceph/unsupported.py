"""Kinds that the lab accepts and does not support: a condition reports it."""

from cobaltcore.api.foreign.rook import PoolStatus
from cobaltcore.runtime.controller import Source, itself
from cobaltcore.runtime.meta import Condition, Kind, Object
from cobaltlab.providers.failures import Blocked, Failure
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler
from cobaltlab.providers.servers import UNSUPPORTED


class UnsupportedReconciler(Reconciler):
    """Reports that a kind is not supported."""

    observes_generation = False

    def __init__(self, context: Context, kind: Kind, feature: str) -> None:
        self._message = (
            f"{kind.kind} is not supported in the lab, its Ceph has block storage only: "
            f"use the real Rook operator for {feature}"
        )
        super().__init__(context, kind, [Source(kind, itself)])

    async def apply(self, live: Object) -> None:
        raise Blocked(self._message, reason=UNSUPPORTED)

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        reason = failure.reason or self.failed_reason
        ready = Condition(type="Ready", status="False", reason=reason, message=failure.message)
        after = PoolStatus(
            phase="Failure",
            conditions=self.merged(live, [ready]),
            observed_generation=live["metadata"]["generation"],
        )
        return await self.write_status(live, after)
