"""Between typed views of foreign kinds and the plain objects that travel. Pure: no I/O.

A view has only the fields that we touch: what it does not know is neither set nor removed.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Struct

ViewT = TypeVar("ViewT", bound=Struct)


def manifest(kind: Kind, key: Key, spec: Struct) -> Object:
    """Create the object of `kind` with `spec`."""
    metadata = {"name": key.name}
    if kind.namespaced:
        metadata["namespace"] = key.namespace
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": msgspec.to_builtins(spec),
    }


def spec_of(obj: Mapping[str, Any], view: type[ViewT]) -> ViewT:
    """Read the spec of an object through `view`."""
    return msgspec.convert(obj.get("spec") or {}, view)


def status_of(obj: Mapping[str, Any], view: type[ViewT]) -> ViewT:
    """Read the status of an object through `view`; a missing one reads as empty."""
    return msgspec.convert(obj.get("status") or {}, view)


class Conditions(Struct):
    """The status of kinds that report nothing but conditions."""

    conditions: list[Condition] = []


class ConditionedStatus(Conditions):
    """The part of a status that most foreign kinds share."""

    observed_generation: int | None = None
