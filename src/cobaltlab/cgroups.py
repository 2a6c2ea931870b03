"""Cgroups of a lab (v1 and v2): one subtree `cobaltcore/<lab>` in every hierarchy.

Each node has `<node>/system` for its daemons; its kubelet creates `<node>/kubepods` next to it. All
processes of a lab are found by its cgroups, even if its files are gone.
Standard library only.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = "cobaltcore"
SYSTEM = "system"
# What a kubelet manages in cgroup v1.
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
REQUIRED = ("cpu", "cpuset", "memory", "pids")
# A kubelet requires every one of these that the machine offers.
DELEGATED = (*REQUIRED, "hugetlb", "io")

_TREE = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """The mount points of cgroups: one for each v1 hierarchy, a single one for v2 (unified)."""

    roots: tuple[Path, ...]
    unified: bool

    def group(self, name: str) -> list[Path]:
        """The directories of a cgroup in all hierarchies, existing or not."""
        return [root / name for root in self.roots]


def detect(tree: Path = _TREE) -> Hierarchies:
    """The hierarchies of this machine; on a hybrid one the v1 controllers count."""
    if (tree / "cgroup.controllers").exists():
        return Hierarchies((tree,), unified=True)
    # cpu and cpuacct are often two names of one directory.
    found = {each.resolve(): None for each in tree.iterdir() if (each / "cgroup.procs").exists()}
    return Hierarchies(tuple(found), unified=False)


def missing_controllers(tree: Path = _TREE) -> list[str]:
    """Controllers that a kubelet needs and this machine lacks."""
    unified = tree / "cgroup.controllers"
    if unified.exists():
        offered = set(unified.read_text().split())
        return [each for each in REQUIRED if each not in offered]
    return [each for each in CONTROLLERS if not (tree / each / "cgroup.procs").exists()]


def create(hierarchies: Hierarchies, name: str) -> None:
    """Create a cgroup that can hold processes, and its parents."""
    parts = Path(name).parts
    for depth in range(1, len(parts) + 1):
        for root in hierarchies.roots:
            group = root.joinpath(*parts[:depth])
            group.mkdir(exist_ok=True)
            _enable_controllers(group, delegates=hierarchies.unified)


def set_weight(hierarchies: Hierarchies, name: str, times: int) -> None:
    """Give a cgroup a multiple of the default CPU weight."""
    shares = {"cpu.shares": 1024 * times, "cpu.weight": 100 * times}
    for group in hierarchies.group(name):
        for setting, value in shares.items():
            if (group / setting).exists():
                (group / setting).write_text(str(value))


def join(hierarchies: Hierarchies, name: str) -> None:
    for group in hierarchies.group(name):
        (group / "cgroup.procs").write_text(str(os.getpid()))


def processes(hierarchies: Hierarchies, name: str) -> set[int]:
    """All processes in a cgroup and its children, in any hierarchy."""
    found: set[int] = set()
    for group in hierarchies.group(name):
        for member in _subtree(group):
            found.update(_members(member))
    return found - {0}


def kill(hierarchies: Hierarchies, name: str) -> set[int]:
    """Send SIGKILL to all processes of a cgroup; return their PIDs."""
    found = processes(hierarchies, name) - {os.getpid()}
    for pid in found:
        _end(pid)
    return found


def remove(hierarchies: Hierarchies, name: str) -> bool:
    """Remove a cgroup with its children; False while exiting processes keep one busy."""
    left = [group for group in hierarchies.group(name) if not _remove(group)]
    return not left


def instances(hierarchies: Hierarchies) -> set[str]:
    """Names of all labs that have cgroups on this machine."""
    tops = (top for top in hierarchies.group(TOP) if top.is_dir())
    return {each.name for top in tops for each in top.iterdir() if each.is_dir()}


def remove_top(hierarchies: Hierarchies) -> None:
    """Remove the common parent when no lab is left in it."""
    for top in hierarchies.group(TOP):
        if top.is_dir() and not any(each.is_dir() for each in top.iterdir()):
            top.rmdir()


def _enable_controllers(group: Path, *, delegates: bool) -> None:
    """Prepare a new cgroup: inherit cpuset in v1, delegate controllers to it in v2."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        own, above = group / name, group.parent / name
        if not delegates and own.exists() and not own.read_text().strip():
            own.write_text(above.read_text())
    if delegates:
        offered = (group.parent / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{each}" for each in DELEGATED if each in offered)
        (group.parent / "cgroup.subtree_control").write_text(wanted)


def _remove(group: Path) -> bool:
    for each in reversed(list(_subtree(group))):
        try:
            each.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _subtree(group: Path) -> Iterator[Path]:
    """A cgroup and its children, parents first; they may be removed concurrently."""
    if group.is_dir():
        yield group
        for child in _children(group):
            yield from _subtree(child)


def _children(group: Path) -> Sequence[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(group) if entry.is_dir()]
    except FileNotFoundError:
        return []


def _members(group: Path) -> set[int]:
    try:
        return {int(line) for line in (group / "cgroup.procs").read_text().split()}
    except OSError:
        return set()


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
