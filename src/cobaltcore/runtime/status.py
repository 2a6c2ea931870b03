"""Write a status once, and only if it changed."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from cobaltcore.runtime import conditions
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, key_of

LONGEST_DEFERRAL = timedelta(seconds=2)


async def write(
    cluster: Cluster, kind: Kind, live: Object, status: Mapping[str, Any], *, manager: str
) -> bool:
    """Make `status` the whole status that `manager` reports; return whether it was written.

    Applying under the object's uid cannot touch an object of that name created since.
    """
    if (live.get("status") or {}) == status:
        return False
    meta = live["metadata"]
    identity = {name: meta[name] for name in ("name", "namespace", "uid") if meta.get(name)}
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": identity,
        "status": status,
    }
    with cluster.informer(kind).own_status_update(key_of(live), status):
        answer = await cluster.client.apply_status(kind, body, manager=manager)
        cluster.observe_cached(kind, answer)
    return True


class Writer:
    """Writes the statuses of one kind, without those that the next reconcile replaces at once.

    A key that is dirty is reconciled again as soon as the running reconcile ends, and that computes
    the status again from the same caches: nothing is lost by leaving one out. A status in which Ready
    changes is always written, and no status is deferred for longer than `LONGEST_DEFERRAL`.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: Kind,
        *,
        manager: str,
        is_dirty: Callable[[Key], bool],
        clock: Clock | None = None,
    ) -> None:
        self._cluster = cluster
        self._kind = kind
        self._manager = manager
        self._is_dirty = is_dirty
        self._clock = clock or SystemClock()
        self._deferred_since: dict[Key, float] = {}

    async def write(self, live: Object, status: Mapping[str, Any]) -> bool:
        """As the function `write`; False also if the status is deferred."""
        key = key_of(live)
        if self._is_deferred(key, live, status):
            return False
        self._deferred_since.pop(key, None)
        return await write(self._cluster, self._kind, live, status, manager=self._manager)

    def _is_deferred(self, key: Key, live: Object, status: Mapping[str, Any]) -> bool:
        if not self._is_dirty(key) or _ready(live) != _ready({"status": status}):
            return False
        now = self._clock.monotonic()
        since = self._deferred_since.setdefault(key, now)
        return now - since < LONGEST_DEFERRAL.total_seconds()


def _ready(obj: Object) -> str:
    ready = conditions.find(conditions.of(obj), "Ready")
    return ready.status if ready is not None else ""
