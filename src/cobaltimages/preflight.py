"""Requirements of a build on this machine: root, programs, disk space."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from cobaltimages import buildah, errors, hostpackages

GIGABYTE = 10**9
SPACE_NEEDED_BYTES = 6 * GIGABYTE


def check(directory: Path, *, may_install: bool, report: Callable[[str], None]) -> None:
    """Raise HostError for what is missing; install packages if that is allowed."""
    if os.geteuid():
        raise errors.HostError("images are built as root", hint="run the command with sudo")
    free = shutil.disk_usage(directory).free
    if free < SPACE_NEEDED_BYTES:
        raise errors.HostError(
            f"{directory} has {free / GIGABYTE:.1f} GB free, and images need "
            f"{SPACE_NEEDED_BYTES / GIGABYTE:.0f} GB",
            hint="free disk space, or choose another directory with --store",
        )
    missing = [name for name in buildah.PROGRAMS if not shutil.which(name)]
    names = list(dict.fromkeys(buildah.PROGRAMS[name] for name in missing))
    if missing and may_install:
        hostpackages.install(names, report=report)
    elif missing:
        raise errors.HostError(
            f"{', '.join(missing)} cannot be found",
            hint=f"let cobalt install them with --yes, or run: apt-get install {' '.join(names)}",
        )
