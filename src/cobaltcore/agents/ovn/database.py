"""Create or join the cluster of an OVN database once, then become its server.

The first server creates the cluster, unless another one answers already: then its volume was lost and
it joins again. The file gets its name when it is whole, so a crash leaves nothing or everything.
"""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from cobaltcore.agents import processes

DATA = Path("/var/lib/ovn")
FILE, NEW = DATA / "database.db", DATA / "database.new"
CONTROL = "/tmp/ovsdb.ctl"  # noqa: S108 an empty volume of the pod
SOCKET = "/tmp/ovsdb.sock"  # noqa: S108 as above
ELECTION_MILLISECONDS = 2000
"""A leader that is silent for so long is replaced."""
ANSWER_SECONDS = 3


def main(_: Sequence[str]) -> None:
    """Prepare the data, then serve."""
    servers = os.environ["OVN_SERVERS"].split(",")
    own = next((each for each in servers if each.startswith(f"{socket.gethostname()}.")), None)
    if own is None:
        sys.exit(f"{socket.gethostname()} is none of the servers {', '.join(servers)}")
    others = [each for each in servers if each != own]
    if not FILE.exists():
        NEW.unlink(missing_ok=True)
        if own == servers[0] and not any(map(is_served, others)):
            _create_cluster(own, os.environ["OVN_SCHEMA"])
        else:
            _join_cluster(own, others)
        _publish()
    _check_address(own, is_alone=not others)
    protocol, port = os.environ["OVN_PROTOCOL"], os.environ["OVN_PORT"]
    processes.become(
        "ovsdb-server",
        f"--unixctl={CONTROL}",
        f"--remote=punix:{SOCKET}",
        f"--remote=p{protocol}:{port}",
        *_tls_options(),
        "-vconsole:info",
        "-vsyslog:off",
        "-vfile:off",
        FILE,
    )


def is_served(host: str) -> bool:
    """Whether a server has the database: one that has not joined yet does not list it."""
    protocol, port = os.environ["OVN_PROTOCOL"], os.environ["OVN_PORT"]
    timeout = f"--timeout={ANSWER_SECONDS}"
    target = f"{protocol}:{host}:{port}"
    done = processes.attempt("ovsdb-client", timeout, *_tls_options(), "list-dbs", target)
    return os.environ["OVN_DATABASE"] in done.stdout.split()


def _create_cluster(own: str, source: str | Path) -> None:
    """A cluster of one server, from a schema or from the data of a standalone database."""
    timer = f"--election-timer={ELECTION_MILLISECONDS}"
    processes.run("ovsdb-tool", timer, "create-cluster", NEW, source, _raft_address(own))


def _join_cluster(own: str, others: list[str]) -> None:
    database = os.environ["OVN_DATABASE"]
    addresses = map(_raft_address, (own, *others))
    processes.run("ovsdb-tool", "join-cluster", NEW, database, *addresses)


def _check_address(own: str, *, is_alone: bool) -> None:
    """A Raft member is known by its address: one that is alone can get another, others cannot."""
    known = processes.output("ovsdb-tool", "db-local-address", FILE)
    if known == _raft_address(own):
        return
    if not is_alone:
        sys.exit(
            f"the volume has the data of a server at {known}, and this one is at "
            f"{_raft_address(own)}: give it back its address, or delete the volume claim "
            "to have it join again"
        )
    standalone = DATA / "database.plain"
    standalone.unlink(missing_ok=True)
    NEW.unlink(missing_ok=True)
    processes.run("ovsdb-tool", "cluster-to-standalone", standalone, FILE)
    _create_cluster(own, standalone)
    _publish()
    standalone.unlink()


def _raft_address(host: str) -> str:
    return f"{os.environ['OVN_PROTOCOL']}:{host}:{os.environ['OVN_RAFT_PORT']}"


def _tls_options() -> list[str]:
    return os.environ.get("OVN_OPTIONS", "").split()


def _publish() -> None:
    NEW.rename(FILE)
    handle = os.open(DATA, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
