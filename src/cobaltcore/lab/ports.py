"""Ports of the host that somebody listens on at all addresses, so that the lab could not."""

from collections.abc import Collection, Iterator
from pathlib import Path

_LISTENING = "0A"
_TABLES = ("net/tcp", "net/tcp6")


def taken(wanted: Collection[int], proc: Path = Path("/proc")) -> dict[int, str]:
    """Which of some ports are taken, and by which process as far as it can be seen."""
    found = dict(_everywhere(wanted, proc))
    owners = _owners(set(found.values()), proc) if found else {}
    return {port: owners.get(inode, "some process") for port, inode in found.items()}


def _everywhere(wanted: Collection[int], proc: Path) -> Iterator[tuple[int, str]]:
    """Port and socket of everybody who listens on all addresses."""
    for table in _TABLES:
        path = proc / "self" / table
        rows = path.read_text().splitlines()[1:] if path.exists() else []
        for row in rows:
            _, local, _, state, *rest = row.split()
            address, _, port = local.partition(":")
            if state == _LISTENING and not int(address, 16) and int(port, 16) in wanted:
                yield int(port, 16), f"socket:[{rest[5]}]"


def _owners(sockets: Collection[str], proc: Path) -> dict[str, str]:
    """Who has these sockets open: the program's name and its process id."""
    found = {}
    for handle in proc.glob("[0-9]*/fd/*"):
        try:
            target = str(handle.readlink())
            if target in sockets:
                process = handle.parents[1]
                found[target] = f"{(process / 'comm').read_text().strip()} (pid {process.name})"
        except OSError:
            continue  # it ended meanwhile, or is none of ours
    return found
