"""Add and remove finalizers."""

from cobaltcore.runtime import errors
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Kind, Object, key_of


def present(obj: Object, finalizer: str) -> bool:
    return finalizer in (obj["metadata"].get("finalizers") or ())


async def add(cluster: Cluster, kind: Kind, obj: Object, finalizer: str) -> Object:
    """Add a finalizer; return the object as it is now."""
    if present(obj, finalizer):
        return obj
    return await _set(cluster, kind, obj, [*(obj["metadata"].get("finalizers") or ()), finalizer])


async def remove(cluster: Cluster, kind: Kind, obj: Object, finalizer: str) -> None:
    if present(obj, finalizer):
        rest = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
        try:
            await _set(cluster, kind, obj, rest)
        except errors.NotFound:
            # Deleted already, and the watch event has not arrived yet.
            return


async def _set(cluster: Cluster, kind: Kind, obj: Object, names: list[str]) -> Object:
    # With the version, a write that is based on a stale list fails instead of undoing another.
    version = obj["metadata"]["resourceVersion"]
    patch = {"metadata": {"finalizers": names, "resourceVersion": version}}
    result = await cluster.client.patch(kind, key_of(obj), patch)
    cluster.observe(kind, result)
    return result
