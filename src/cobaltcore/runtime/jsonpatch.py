"""The RFC 6902 operations that turn one JSON value into another. Pure."""

from collections.abc import Iterator
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]


def diff(before: Any, after: Any) -> list[Operation]:
    """Operations from `before` to `after`; lists of different length are replaced as a whole."""
    return list(_walk("", before, after))


def _walk(path: str, before: Any, after: Any) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _mapping(path, before, after)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _walk(f"{path}/{index}", old, new)
    elif type(before) is not type(after) or before != after:
        # Types are compared too: in Python True equals 1, in JSON it does not.
        yield {"op": "replace", "path": path, "value": after}


def _mapping(path: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Operation]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escape(name)}"}
    for name, value in after.items():
        child = f"{path}/{_escape(name)}"
        if name in before:
            yield from _walk(child, before[name], value)
        else:
            yield {"op": "add", "path": child, "value": value}


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
