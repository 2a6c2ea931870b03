"""Control groups of an instance: one subtree `cobaltcore/<instance>` in every hierarchy.

Each node has `<node>/system` for its daemons; its kubelet makes `<node>/kubepods` beside it. The
groups also tell which processes belong to an instance, whatever became of its files.
Standard library only.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = "cobaltcore"
SYSTEM = "system"
# What a kubelet manages; the systemd hierarchy is there for the container runtime.
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
REQUIRED = ("cpu", "cpuset", "memory", "pids")
# A kubelet insists on every one of these that the machine has.
DELEGATED = (*REQUIRED, "hugetlb", "io")

_TREE = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where control groups are made: one directory for each mounted hierarchy."""

    roots: tuple[Path, ...]
    unified: bool

    def group(self, name: str) -> list[Path]:
        """A group in all hierarchies, existing or not."""
        return [root / name for root in self.roots]


def find(tree: Path = _TREE) -> Hierarchies:
    """The hierarchies of this machine; on a mixed one the controllers of version 1 count."""
    if (tree / "cgroup.controllers").exists():
        return Hierarchies((tree,), unified=True)
    # cpu and cpuacct are often two names of one directory.
    found = {each.resolve(): None for each in tree.iterdir() if (each / "cgroup.procs").exists()}
    return Hierarchies(tuple(found), unified=False)


def missing_controllers(tree: Path = _TREE) -> list[str]:
    """Controllers that a kubelet needs and this machine does not offer."""
    unified = tree / "cgroup.controllers"
    if unified.exists():
        offered = set(unified.read_text().split())
        return [each for each in REQUIRED if each not in offered]
    return [each for each in CONTROLLERS if not (tree / each / "cgroup.procs").exists()]


def create(hierarchies: Hierarchies, name: str) -> None:
    """Make a group that can hold processes, and its parents."""
    parts = Path(name).parts
    for depth in range(1, len(parts) + 1):
        for root in hierarchies.roots:
            group = root.joinpath(*parts[:depth])
            group.mkdir(exist_ok=True)
            _open_up(group, delegates=hierarchies.unified)


def favour(hierarchies: Hierarchies, name: str, times: int) -> None:
    """Let a group have a multiple of its share where processors are short."""
    shares = {"cpu.shares": 1024 * times, "cpu.weight": 100 * times}
    for group in hierarchies.group(name):
        for setting, value in shares.items():
            if (group / setting).exists():
                (group / setting).write_text(str(value))


def join(hierarchies: Hierarchies, name: str) -> None:
    """Move this process into a group."""
    for group in hierarchies.group(name):
        (group / "cgroup.procs").write_text(str(os.getpid()))


def processes(hierarchies: Hierarchies, name: str) -> set[int]:
    """All processes in a group and below, in any hierarchy."""
    found: set[int] = set()
    for group in hierarchies.group(name):
        for member in _subtree(group):
            found.update(_members(member))
    return found - {0}


def kill(hierarchies: Hierarchies, name: str) -> set[int]:
    """End all processes of a group at once; return who was there."""
    found = processes(hierarchies, name) - {os.getpid()}
    for pid in found:
        _end(pid)
    return found


def remove(hierarchies: Hierarchies, name: str) -> bool:
    """Remove a group with all below; False while processes that end keep some of it busy."""
    left = [group for group in hierarchies.group(name) if not _remove(group)]
    return not left


def instances(hierarchies: Hierarchies) -> set[str]:
    """Names of all instances that have groups on this machine."""
    tops = (top for top in hierarchies.group(TOP) if top.is_dir())
    return {each.name for top in tops for each in top.iterdir() if each.is_dir()}


def remove_top(hierarchies: Hierarchies) -> None:
    """Remove the common parent when no instance is left in it."""
    for top in hierarchies.group(TOP):
        if top.is_dir() and not any(each.is_dir() for each in top.iterdir()):
            top.rmdir()


def _open_up(group: Path, *, delegates: bool) -> None:
    """Let a new group hold processes (cpuset, version 1) or pass controllers on (version 2)."""
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
    """A group and all below, parents first; groups may vanish meanwhile."""
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
