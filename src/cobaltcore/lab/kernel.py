"""Calls to the kernel that Python 3.11 does not offer: namespaces, mounts, process identity.

Standard library only: the first process of a node runs on this and on nothing else of ours.
"""

import ctypes
import os
from pathlib import Path
from typing import NamedTuple

NEW_MOUNT = 0x00020000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

BIND = 0x1000
RECURSIVE = 0x4000
PRIVATE = 1 << 18
SHARED = 1 << 20

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_PR_SET_CHILD_SUBREAPER = 36
# Of /proc/PID/stat, counted from the one after the state.
_FLAGS_FIELD = 5
_START_TIME_FIELD = 18
_EXITING = 0x4

_libc = ctypes.CDLL(None, use_errno=True)


class Identity(NamedTuple):
    """A process that is not mistaken for a later one with the same number, even after a reboot."""

    pid: int
    started: str
    boot: str


def environment() -> dict[str, str]:
    """For processes that stay: without the proxies, languages and credentials of this one."""
    found = {"PATH": SYSTEM_PATH, "HOME": "/root", "LANG": "C.UTF-8"}
    if "PYTHONPATH" in os.environ:
        found["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return found


def unshare(namespaces: int) -> None:
    """Leave namespaces; a new PID namespace counts for children only."""
    _check(_libc.unshare(namespaces), "unshare")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or bind a directory elsewhere."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount of {kind or source} on {target}")


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent has ended."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def identity(pid: int) -> Identity | None:
    """Who has this number now; None if nobody, or a process that is about to end or has ended."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = content.rpartition(")")[2].split()
    if state in {"Z", "X"} or int(fields[_FLAGS_FIELD]) & _EXITING:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Identity(pid, fields[_START_TIME_FIELD], boot)


def remember(path: Path, pid: int) -> None:
    """Write down who a process is, so that another process can find it."""
    found = identity(pid)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(" ".join(map(str, found)) if found else "")
    fresh.replace(path)


def recall(path: Path) -> int | None:
    """The process that was written down, if it still runs."""
    try:
        words = path.read_text().split()
    except FileNotFoundError:
        return None
    if len(words) != len(Identity._fields):
        return None
    known = Identity(int(words[0]), words[1], words[2])
    return known.pid if identity(known.pid) == known else None


def _check(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
