"""Compare desired with live objects. Pure.

Only desired fields are compared: the server and other managers set defaults and more fields.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

# Fields that identify items of a list to which the server or a webhook has added items.
_ITEM_KEYS = ("name", "type", "mountPath", "containerPort", "port", "key", "uid", "topologyKey")


def digest(value: Any) -> str:
    """A short hash of a value, independent of the order of its fields."""
    encoded = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:16]


def contains(live: Any, desired: Any) -> bool:
    """Whether every field of `desired` is in `live` with the same value."""
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            _field_contained(live.get(name), value) for name, value in desired.items()
        )
    if isinstance(desired, list | tuple):
        return isinstance(live, list) and _list_contained(live, desired)
    return bool(live == desired)


def project(live: Any, desired: Any) -> Any:
    """The fields of `live` that `desired` sets."""
    if isinstance(desired, Mapping) and isinstance(live, Mapping):
        return {name: project(live.get(name), value) for name, value in desired.items()}
    if isinstance(desired, list) and isinstance(live, list) and len(live) == len(desired):
        return [project(a, b) for a, b in zip(live, desired, strict=True)]
    return live


def _field_contained(live: Any, desired: Any) -> bool:
    # The server drops empty containers and nulls, so absent and empty are the same.
    if live is None and (desired is None or desired in ({}, [])):
        return True
    return contains(live, desired)


def _list_contained(live: list[Any], desired: Any) -> bool:
    if len(live) == len(desired):
        return all(contains(a, b) for a, b in zip(live, desired, strict=True))
    item_key = _item_key(desired)
    if item_key is None or len(live) < len(desired):
        return False
    by_key = {item.get(item_key): item for item in live if isinstance(item, Mapping)}
    return all(contains(by_key.get(item[item_key]), item) for item in desired)


def _item_key(items: Any) -> str | None:
    for name in _ITEM_KEYS:
        values = [item.get(name) for item in items if isinstance(item, Mapping)]
        if len(values) == len(items) and None not in values and len(set(values)) == len(values):
            return name
    return None
