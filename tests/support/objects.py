"""Objects of our kinds in tests: where they live, and changed copies of them."""

import copy
from typing import Any, Final

from cobaltcore.api import base

REMOVED: Final = object()
"""Value of a change that takes the field away."""

_KINDS = {(each.kind.api_version, each.kind.kind): each.kind for each in base.definitions()}


def is_ours(obj: dict[str, Any]) -> bool:
    """Whether an object is of one of our kinds."""
    return (obj.get("apiVersion"), obj.get("kind")) in _KINDS


def collection(obj: dict[str, Any]) -> str:
    """Path of the objects of the same kind and namespace."""
    kind = _KINDS[obj["apiVersion"], obj["kind"]]
    namespace = f"/namespaces/{obj['metadata']['namespace']}" if kind.namespaced else ""
    return f"/apis/{kind.group}/{kind.version}{namespace}/{kind.plural}"


def path(obj: dict[str, Any]) -> str:
    """Path of the object itself."""
    return f"{collection(obj)}/{obj['metadata']['name']}"


def moved(obj: dict[str, Any], *, name: str, namespace: str) -> dict[str, Any]:
    """The object under another name; cluster-scoped ones get no namespace."""
    metadata = {**obj["metadata"], "name": name}
    if _KINDS[obj["apiVersion"], obj["kind"]].namespaced:
        metadata["namespace"] = namespace
    return {**obj, "metadata": metadata}


def changed(obj: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with fields set or removed, by dotted path; list items are counted from 0."""
    result = copy.deepcopy(obj)
    for dotted, value in changes.items():
        *parents, last = dotted.split(".")
        target: Any = result
        for step in parents:
            target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
        _set(target, last, value)
    return result


def _set(target: Any, key: str, value: Any) -> None:
    if isinstance(target, list):
        target[int(key)] = value
    elif value is REMOVED:
        target.pop(key, None)
    else:
        target[key] = value
