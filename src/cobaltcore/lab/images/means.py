"""What a build needs on this machine: rights, programs, room."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from cobaltcore.lab import errors, packages
from cobaltcore.lab.images import buildah

GIGABYTE = 10**9
SPACE_NEEDED_BYTES = 6 * GIGABYTE


def expect(directory: Path, *, may_install: bool, report: Callable[[str], None]) -> None:
    """Say what is missing before anything is done; install packages if that is allowed."""
    if os.geteuid():
        raise errors.LabError("images are built as root", hint="run the command with sudo")
    free = shutil.disk_usage(directory).free
    if free < SPACE_NEEDED_BYTES:
        raise errors.LabError(
            f"{directory} has {free / GIGABYTE:.1f} GB free, and images need "
            f"{SPACE_NEEDED_BYTES / GIGABYTE:.0f} GB",
            hint="make room, or choose another place with --store",
        )
    missing = [name for name in buildah.PROGRAMS if not shutil.which(name)]
    names = list(dict.fromkeys(buildah.PROGRAMS[name] for name in missing))
    if missing and may_install:
        packages.install(names, report=report)
    elif missing:
        raise errors.LabError(
            f"{', '.join(missing)} cannot be found",
            hint=f"let cobalt install them with --yes, or run: apt-get install {' '.join(names)}",
        )
