"""Names of a lab's cloud in /etc/hosts, in a block that is marked with the lab's name.

All other lines stay as they are. Names are the same in every lab: the first one has them.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HOSTS = Path("/etc/hosts")
_BEGIN, _END = "# BEGIN cobaltcore lab ", "# END cobaltcore lab "
# Also one that was cut off: where the file is a mount, it cannot be replaced atomically.
_BLOCK = re.compile(
    rf"^{_BEGIN}(?P<lab>[a-z0-9-]+)\n(?P<lines>(?:\S+ \S+\.svc\.cluster\.local\n)*)"
    rf"(?:{_END}(?P=lab)(?:\n|\Z))?",
    re.MULTILINE,
)


def written(text: str, lab: str, addresses: Mapping[str, str]) -> str:
    """The file with the block of a lab; names in the block of another lab are left out. Pure."""
    rest = removed(text, lab)
    taken = {name for other in labs(rest) for name in _names(_lines(rest, other))}
    free = {name: address for name, address in addresses.items() if name not in taken}
    if not free:
        return rest
    separator = "" if not rest or rest.endswith("\n") else "\n"
    lines = "".join(f"{address} {name}\n" for name, address in sorted(free.items()))
    return f"{rest}{separator}{_BEGIN}{lab}\n{lines}{_END}{lab}\n"


def removed(text: str, lab: str) -> str:
    """The file without the block of a lab. Pure."""
    return _BLOCK.sub(lambda found: "" if found["lab"] == lab else found[0], text)


def labs(text: str) -> list[str]:
    """The labs that have a block. Pure."""
    return [found["lab"] for found in _BLOCK.finditer(text)]


def write(lab: str, addresses: Mapping[str, str], *, hosts: Path = HOSTS) -> list[str]:
    """Write the block of a lab; return names that another lab has. Raises OSError."""
    text = _change(hosts, lambda text: written(text, lab, addresses))
    return sorted(addresses.keys() - set(_names(_lines(text, lab))))


def remove(lab: str, *, hosts: Path = HOSTS) -> None:
    """Remove the block of a lab. Raises OSError."""
    if hosts.exists() and lab in labs(hosts.read_text()):
        _change(hosts, lambda text: removed(text, lab))


def _lines(text: str, lab: str) -> str:
    return "".join(found["lines"] for found in _BLOCK.finditer(text) if found["lab"] == lab)


def _names(lines: str) -> Iterator[str]:
    for line in lines.splitlines():
        yield from line.partition("#")[0].split()[1:]


def _change(hosts: Path, change: Callable[[str], str]) -> str:
    with _locked(hosts.parent):
        text = hosts.read_text() if hosts.exists() else ""
        fresh = change(text)
        if fresh != text:
            _replace(hosts, fresh)
    return fresh


def _replace(path: Path, text: str) -> None:
    """Atomically, keeping owner and mode; in a container the file may be a mount, which cannot be replaced."""
    fresh = path.with_name(f".{path.name}.cobaltcore")
    known = path.stat() if path.exists() else None
    try:
        fresh.write_text(text)
        fresh.chmod(known.st_mode & 0o7777 if known else 0o644)
        if known:
            os.chown(fresh, known.st_uid, known.st_gid)
        with fresh.open() as file:
            os.fsync(file.fileno())
        if path.is_mount():
            path.write_text(text)
        else:
            fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other labs from writing at the same time."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
