"""Limits of the kernel that a few nodes on one machine reach, and that root may raise."""

from collections.abc import Mapping
from pathlib import Path

# Every kubelet, API server and container runtime watches files; 128 instances are the default for
# all processes of a user together.
LEAST: Mapping[str, int] = {
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 524288,
}

_SETTINGS = Path("/proc/sys")


def raise_to_need(settings: Path = _SETTINGS) -> None:
    """Raise what is too low, until the next boot; what cannot be raised stays."""
    for name in too_low(settings):
        try:
            (settings / name).write_text(str(LEAST[name]))
        except OSError:
            continue


def too_low(settings: Path = _SETTINGS) -> dict[str, int]:
    """Limits that are lower than needed, with their present values."""
    found = {
        name: int((settings / name).read_text()) for name in LEAST if (settings / name).exists()
    }
    return {name: value for name, value in found.items() if value < LEAST[name]}
