"""PID files that cannot be mistaken: they hold PID, start time and boot ID of a process.

Standard library only.
"""

from pathlib import Path
from typing import NamedTuple

# Of /proc/PID/stat, counted from the one after the state.
_FLAGS_FIELD = 5
_START_TIME_FIELD = 18
_PF_EXITING = 0x4


class Identity(NamedTuple):
    """A process, distinct from a later one with the same PID, even after a reboot."""

    pid: int
    started: str
    boot: str


def identity(pid: int) -> Identity | None:
    """The process with this PID; None if it does not exist, is a zombie or is exiting."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = content.rpartition(")")[2].split()
    if state in {"Z", "X"} or int(fields[_FLAGS_FIELD]) & _PF_EXITING:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Identity(pid, fields[_START_TIME_FIELD], boot)


def write(path: Path, pid: int) -> None:
    found = identity(pid)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(" ".join(map(str, found)) if found else "")
    fresh.replace(path)


def running(path: Path) -> int | None:
    """The PID in the file, if that process is still running."""
    try:
        words = path.read_text().split()
    except FileNotFoundError:
        return None
    if len(words) != len(Identity._fields):
        return None
    known = Identity(int(words[0]), words[1], words[2])
    return known.pid if identity(known.pid) == known else None
