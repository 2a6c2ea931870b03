"""The cgroup of servers on a node: outside of every pod, so that servers outlive libvirt's pod.

Ending a pod ends what is in its cgroups.
"""

import os
from collections.abc import Iterator
from pathlib import Path

TREE = Path("/host/cgroup")
GUESTS = "cobaltcore-guests"


def leave_pod() -> None:
    """Move this process to the cgroup of servers in every hierarchy."""
    for group in guest_groups(Path("/proc/self/cgroup").read_text(), TREE):
        group.mkdir(parents=True, exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            own, above = group / name, group.parent / name
            if own.exists() and not own.read_text().strip():
                own.write_text(above.read_text())
        (group / "cgroup.procs").write_text(str(os.getpid()))


def guest_groups(membership: str, tree: Path) -> Iterator[Path]:
    """The node's cgroup for servers in every hierarchy, from a text like /proc/self/cgroup."""
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        above, found, _ = path.partition("/kubepods")
        if not found:
            continue
        for mounted in _mounted(controllers, tree):
            yield mounted / above.lstrip("/") / GUESTS


def _mounted(controllers: str, tree: Path) -> Iterator[Path]:
    if not controllers:
        # cgroup v2, alone or next to v1.
        yield tree / "unified" if (tree / "unified").is_dir() else tree
        return
    names = [controllers.removeprefix("name="), *controllers.split(",")]
    for name in dict.fromkeys(names):
        if (tree / name).is_dir():
            yield tree / name
            return
