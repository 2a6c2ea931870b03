"""Kinds that the lab accepts and does not serve: it says so, instead of leaving people waiting."""

from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rook import PoolStatus
from cobaltcore.lab.ceph.surroundings import Surroundings, is_going
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import status
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.meta import Condition, Key, Kind

REASON = "NotServedInLab"


class Unserved:
    """The controller of one such kind."""

    def __init__(self, around: Surroundings, kind: Kind, what: str) -> None:
        self._around = around
        self._cluster = around.setting.cluster
        self._kind = kind
        self._message = (
            f"the lab's Ceph has block storage only: {what} need the real Rook operator"
        )
        self.controller = Controller(
            kind.kind.lower(), self.reconcile, [Source(kind, itself)], clock=around.setting.clock
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Report."""
        live = self._cluster.informer(self._kind).get(key)
        if live is None or is_going(live):
            return None
        before = manifest.status_of(live, PoolStatus)
        ready = Condition(type="Ready", status="False", reason=REASON, message=self._message)
        after = PoolStatus(
            phase="Failure",
            conditions=self._around.merged(before.conditions, [ready], live),
            observed_generation=live["metadata"]["generation"],
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, self._kind, live, built, manager=provider.MANAGER)
        return None
