"""TCP ports of the host that a process already listens on at all addresses."""

from collections.abc import Collection, Iterator
from pathlib import Path

_LISTENING = "0A"
_TABLES = ("net/tcp", "net/tcp6")


def taken(wanted: Collection[int], proc: Path = Path("/proc")) -> dict[int, str]:
    """Which of some ports are in use, and by which process."""
    found = dict(_everywhere(wanted, proc))
    owners = _owners(set(found.values()), proc) if found else {}
    return {port: owners.get(inode, "an unknown process") for port, inode in found.items()}


def _everywhere(wanted: Collection[int], proc: Path) -> Iterator[tuple[int, str]]:
    """Ports and sockets that listen on 0.0.0.0 or ::."""
    for table in _TABLES:
        path = proc / "self" / table
        rows = path.read_text().splitlines()[1:] if path.exists() else []
        for row in rows:
            _, local, _, state, *rest = row.split()
            address, _, port = local.partition(":")
            if state == _LISTENING and not int(address, 16) and int(port, 16) in wanted:
                yield int(port, 16), f"socket:[{rest[5]}]"


def _owners(sockets: Collection[str], proc: Path) -> dict[str, str]:
    """The processes that hold these sockets, as `name (pid N)`."""
    found = {}
    for handle in proc.glob("[0-9]*/fd/*"):
        try:
            target = str(handle.readlink())
            if target in sockets:
                process = handle.parents[1]
                found[target] = f"{(process / 'comm').read_text().strip()} (pid {process.name})"
        except OSError:
            continue  # the process ended meanwhile, or may not be inspected
    return found
