"""Hold an object until its clean-up is done."""

from cobaltcore.runtime import errors
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Kind, Object, key_of


def present(obj: Object, finalizer: str) -> bool:
    """Whether the object is held by `finalizer`."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


async def add(cluster: Cluster, kind: Kind, obj: Object, finalizer: str) -> Object:
    """Hold the object; return it as it is now."""
    if present(obj, finalizer):
        return obj
    return await _set(cluster, kind, obj, [*(obj["metadata"].get("finalizers") or ()), finalizer])


async def remove(cluster: Cluster, kind: Kind, obj: Object, finalizer: str) -> None:
    """Let the object go."""
    if present(obj, finalizer):
        rest = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
        try:
            await _set(cluster, kind, obj, rest)
        except errors.NotFound:
            # It has gone already, and the cache has not heard of it yet.
            return


async def _set(cluster: Cluster, kind: Kind, obj: Object, names: list[str]) -> Object:
    # The version makes a write that is based on an old list fail instead of undoing another's.
    version = obj["metadata"]["resourceVersion"]
    patch = {"metadata": {"finalizers": names, "resourceVersion": version}}
    result = await cluster.client.patch(kind, key_of(obj), patch)
    cluster.observe(kind, result)
    return result
