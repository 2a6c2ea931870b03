"""Builders of hand-written invalid objects."""

from typing import Any, Literal, NamedTuple

from tests.support.objects import REMOVED

__all__ = ["REMOVED", "Rejection"]


class Rejection(NamedTuple):
    """A change that the API server must refuse."""

    kind: str
    """Name of the example, which is the kind in lower case."""
    changes: dict[str, Any]
    """Dotted path of a field, list items by number, to its new value."""
    field: str
    """What the message of the API server must contain."""
    on: Literal["create", "update", "status"] = "create"
    """Whether the object is refused as new, as a change of the example, or as its status."""
