"""inotify limits, which several nodes on one machine exceed and root may raise."""

from collections.abc import Mapping
from pathlib import Path

# Every kubelet, API server and containerd uses inotify; the default is 128 instances per user.
MINIMUM: Mapping[str, int] = {
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 524288,
}

_SETTINGS = Path("/proc/sys")


def raise_limits(settings: Path = _SETTINGS) -> None:
    """Raise low limits until the next boot, where this is permitted."""
    for name in too_low(settings):
        try:
            (settings / name).write_text(str(MINIMUM[name]))
        except OSError:
            continue


def too_low(settings: Path = _SETTINGS) -> dict[str, int]:
    """Limits below MINIMUM, with their current values."""
    found = {
        name: int((settings / name).read_text()) for name in MINIMUM if (settings / name).exists()
    }
    return {name: value for name, value in found.items() if value < MINIMUM[name]}
