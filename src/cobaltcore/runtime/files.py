"""Detect changed files (mounted Secrets, rotated tokens) and replace files atomically."""

import os
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


def stamp(*paths: Path) -> Stamp:
    """A value that changes once any of the files is written, replaced, or removed."""
    return tuple(_stamp(path) for path in paths)


def replace(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file atomically: readers see the old content or the new."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    fresh.replace(path)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)
