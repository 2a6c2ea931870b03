"""The reconciler of ExternalSecret and PushSecret: conditions, requeueing, and their watches."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from cobaltcore.api.foreign.eso import CLUSTER_SECRET_STORE, SECRET_STORE, SyncStatus
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import errors
from cobaltcore.runtime.apply import ResourceConflict
from cobaltcore.runtime.controller import KeysOf, Source, itself
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.store import Change, IndexFunction
from cobaltlab.providers import eso_content as content
from cobaltlab.providers.eso_stores import Stores
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler

PENDING = "pending"
STORE = "store"


class SyncReconciler(Reconciler):
    """Reconciles one of the two kinds."""

    blocking = (ResourceConflict, errors.Invalid)
    observes_generation = False

    def __init__(
        self,
        context: Context,
        kind: Kind,
        stores: Stores,
        *,
        indexes: dict[str, IndexFunction],
        secrets: KeysOf,
        component: str,
    ) -> None:
        """Of `indexes`, "store" finds objects by the stores that they name."""
        self._stores = stores
        informer = context.cluster.informer(kind)
        for name, function in {**indexes, PENDING: content.is_pending}.items():
            informer.add_index(name, function)

        def of_secret(change: Change) -> Iterable[Key]:
            yield from secrets(change)
            # A new value in a store may be in any Secret.
            yield from map(key_of, informer.find(PENDING, "yes"))

        def of_store(store_kind: Kind) -> KeysOf:
            return lambda change: map(
                key_of, informer.find(STORE, f"{store_kind.kind} {change.key}")
            )

        super().__init__(
            context,
            kind,
            [
                Source(kind, itself),
                Source(SECRET, of_secret, WatchScope(metadata_only=True)),
                *(Source(each, of_store(each)) for each in (SECRET_STORE, CLUSTER_SECRET_STORE)),
            ],
            component=component,
        )

    async def write_synced(self, live: Object, after: SyncStatus, ready: Condition) -> bool:
        """Write the status with its one condition; return whether it changed."""
        merged = self.merged(live, [ready])
        return await self.write_status(live, msgspec.structs.replace(after, conditions=merged))

    def requeue_after(self, due: datetime | None) -> timedelta | None:
        return None if due is None else max(timedelta(), due - self._clock.now())
