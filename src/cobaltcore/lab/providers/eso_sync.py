"""What ExternalSecrets and PushSecrets share: how they report, and who wakes them."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import CLUSTER_SECRET_STORE, SECRET_STORE, SyncStatus
from cobaltcore.lab.providers import eso_content, provider
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import KeysOf, Source
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, key_of
from cobaltcore.runtime.store import Change, IndexFunction

PENDING = "pending"
STORE = "store"


def index(cluster: Cluster, kind: Kind, stores: IndexFunction) -> None:
    """Make objects findable by the stores that they name, and those that wait."""
    cluster.informer(kind).add_index(PENDING, eso_content.is_pending)
    cluster.informer(kind).add_index(STORE, stores)


def of_stores(cluster: Cluster, kind: Kind) -> Iterable[Source]:
    """A store that changes concerns the objects that name it."""

    def users(store_kind: Kind) -> KeysOf:
        def keys(change: Change) -> Iterable[Key]:
            value = f"{store_kind.kind} {change.key}"
            return [key_of(each) for each in cluster.informer(kind).find(STORE, value)]

        return keys

    for store_kind in (SECRET_STORE, CLUSTER_SECRET_STORE):
        yield Source(store_kind, users(store_kind))


def waiting(cluster: Cluster, kind: Kind) -> Iterable[Key]:
    """Objects that any Secret may help."""
    return [key_of(each) for each in cluster.informer(kind).find(PENDING, "yes")]


async def tell(
    cluster: Cluster, kind: Kind, live: Object, after: SyncStatus, ready: Condition, now: datetime
) -> bool:
    """Write the status with its one condition; return whether it is news."""
    before = manifest.status_of(live, SyncStatus)
    merged = conditions.merge(before.conditions, [ready], now=now, generation=0)
    told = msgspec.structs.replace(after, conditions=[eso_content.plain(each) for each in merged])
    built = msgspec.to_builtins(told)
    return await status.write(cluster, kind, live, built, manager=provider.MANAGER)
