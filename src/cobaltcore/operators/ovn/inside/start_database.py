"""Runs in the containers of OVN's databases: makes or joins the cluster once, then serves.

The first server makes the cluster, unless another one answers already: then its volume was lost and
it joins again. The file gets its name when it is whole, so a crash leaves nothing or everything.
Only the standard library and OVN's own programs are at hand.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

DATA = Path("/var/lib/ovn")
FILE, NEW = DATA / "database.db", DATA / "database.new"
CONTROL = "/tmp/ovsdb.ctl"  # noqa: S108 an empty volume of the pod
SOCKET = "/tmp/ovsdb.sock"  # noqa: S108 as above
# A leader that is silent for so long is replaced.
ELECTION_MILLISECONDS = 2000
ANSWER_SECONDS = 3


def main() -> None:
    """Prepare the data, then become the server."""
    servers = os.environ["OVN_SERVERS"].split(",")
    own = next((each for each in servers if each.startswith(f"{socket.gethostname()}.")), None)
    if own is None:
        sys.exit(f"{socket.gethostname()} is none of the servers {', '.join(servers)}")
    others = [each for each in servers if each != own]
    if not FILE.exists():
        NEW.unlink(missing_ok=True)
        if own == servers[0] and not any(map(is_served, others)):
            _make(own)
        else:
            _join(own, others)
        NEW.rename(FILE)
        _settle(DATA)
    protocol, port = os.environ["OVN_PROTOCOL"], os.environ["OVN_PORT"]
    command = [
        "ovsdb-server",
        f"--unixctl={CONTROL}",
        f"--remote=punix:{SOCKET}",
        f"--remote=p{protocol}:{port}",
        *_options(),
        "-vconsole:info",
        "-vsyslog:off",
        "-vfile:off",
        str(FILE),
    ]
    os.execvp(command[0], command)  # noqa: S606 no shell is wanted


def is_served(host: str) -> bool:
    """Whether a server has the database: one that has not joined yet does not list it."""
    protocol, port = os.environ["OVN_PROTOCOL"], os.environ["OVN_PORT"]
    target = f"{protocol}:{host}:{port}"
    done = subprocess.run(  # noqa: S603 our words
        ["ovsdb-client", f"--timeout={ANSWER_SECONDS}", *_options(), "list-dbs", target],  # noqa: S607 as above
        capture_output=True,
        text=True,
        check=False,
    )
    return os.environ["OVN_DATABASE"] in done.stdout.split()


def _make(own: str) -> None:
    timer = f"--election-timer={ELECTION_MILLISECONDS}"
    _run("ovsdb-tool", timer, "create-cluster", NEW, os.environ["OVN_SCHEMA"], _raft(own))


def _join(own: str, others: list[str]) -> None:
    database = os.environ["OVN_DATABASE"]
    _run("ovsdb-tool", "join-cluster", NEW, database, _raft(own), *map(_raft, others))


def _raft(host: str) -> str:
    return f"{os.environ['OVN_PROTOCOL']}:{host}:{os.environ['OVN_RAFT_PORT']}"


def _options() -> list[str]:
    return os.environ.get("OVN_OPTIONS", "").split()


def _settle(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], check=False)  # noqa: S603 our words
    if done.returncode:
        sys.exit(f"{command[0]} failed with {done.returncode}; its messages are above")


if __name__ == "__main__":
    main()
