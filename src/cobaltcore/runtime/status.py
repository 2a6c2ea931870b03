"""Write a status once, and only if it says something new."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Kind, Object, key_of


async def write(
    cluster: Cluster, kind: Kind, live: Object, status: Mapping[str, Any], *, manager: str
) -> bool:
    """Make `status` the whole status that `manager` tells; return whether it was written.

    Applying under the object's uid cannot touch a namesake made meanwhile.
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
    with cluster.informer(kind).telling(key_of(live), status):
        answer = await cluster.client.apply_status(kind, body, manager=manager)
        cluster.see(kind, answer)
    return True
