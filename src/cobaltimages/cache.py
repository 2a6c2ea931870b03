"""Where builds of this user are kept."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """The cache of this user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cobaltcore"
