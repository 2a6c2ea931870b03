"""System calls that Python 3.11 does not offer: unshare, mount, prctl.

Standard library only: PID 1 of a node imports it.
"""

import ctypes
import os

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

_libc = ctypes.CDLL(None, use_errno=True)


def service_environment() -> dict[str, str]:
    """Environment of long-running processes: no proxies, locales or credentials of the user."""
    found = {"PATH": SYSTEM_PATH, "HOME": "/root", "LANG": "C.UTF-8"}
    if "PYTHONPATH" in os.environ:
        found["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return found


def unshare(namespaces: int) -> None:
    """Move to new namespaces; a new PID namespace applies to children only."""
    _check(_libc.unshare(namespaces), "unshare")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount of {kind or source} on {target}")


def become_subreaper() -> None:
    """Become the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER)."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def _check(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
