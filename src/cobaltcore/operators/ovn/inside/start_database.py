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
        _publish()
    _keep_address(own, is_alone=not others)
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


def _make(own: str, content: str | Path = "") -> None:
    timer = f"--election-timer={ELECTION_MILLISECONDS}"
    source = content or os.environ["OVN_SCHEMA"]
    _run("ovsdb-tool", timer, "create-cluster", NEW, source, _raft(own))


def _keep_address(own: str, *, is_alone: bool) -> None:
    """A server is known by its address: one that is alone can get another, others cannot."""
    known = _says("ovsdb-tool", "db-local-address", FILE)
    if known == _raft(own):
        return
    if not is_alone:
        sys.exit(
            f"the volume has the data of a server at {known}, and this one is at {_raft(own)}: "
            "give it back its address, or delete the volume claim to have it join anew"
        )
    plain = DATA / "database.plain"
    plain.unlink(missing_ok=True)
    NEW.unlink(missing_ok=True)
    _run("ovsdb-tool", "cluster-to-standalone", plain, FILE)
    _make(own, plain)
    _publish()
    plain.unlink()


def _join(own: str, others: list[str]) -> None:
    database = os.environ["OVN_DATABASE"]
    _run("ovsdb-tool", "join-cluster", NEW, database, _raft(own), *map(_raft, others))


def _raft(host: str) -> str:
    return f"{os.environ['OVN_PROTOCOL']}:{host}:{os.environ['OVN_RAFT_PORT']}"


def _options() -> list[str]:
    return os.environ.get("OVN_OPTIONS", "").split()


def _publish() -> None:
    NEW.rename(FILE)
    handle = os.open(DATA, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _says(*command: str | Path) -> str:
    done = subprocess.run(  # noqa: S603 our words
        [str(word) for word in command], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], check=False)  # noqa: S603 our words
    if done.returncode:
        sys.exit(f"{command[0]} failed with {done.returncode}; its messages are above")


if __name__ == "__main__":
    main()
