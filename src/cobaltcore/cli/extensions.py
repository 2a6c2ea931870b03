"""What other packages add to the `cobalt` command, as entry points."""

from functools import cache
from importlib.metadata import EntryPoints, entry_points


@cache
def of(group: str) -> EntryPoints:
    """Entry points of a group."""
    return entry_points(group=group)
