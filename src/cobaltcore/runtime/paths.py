"""URL paths of kinds and objects. Pure."""

from cobaltcore.runtime.meta import Key, Kind


def collection(kind: Kind, namespace: str = "") -> str:
    """Path of all objects of a kind, in one namespace or (empty) in all of them."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    scope = f"/namespaces/{namespace}" if namespace and kind.namespaced else ""
    return f"{root}{scope}/{kind.plural}"


def item(kind: Kind, key: Key, subresource: str = "") -> str:
    """Path of one object, or of one of its subresources."""
    path = f"{collection(kind, key.namespace)}/{key.name}"
    return f"{path}/{subresource}" if subresource else path
