"""Runs in the containers of Ceph's daemons: prepares the data once, then becomes the daemon.

What is prepared is made under another name and renamed when it is whole, so a crash at any point
leaves either nothing or everything. Only the standard library and Ceph's own programs are at hand.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

DATA = Path("/var/lib/ceph/data")
STORE, NEW = DATA / "store", DATA / "new"
RUN = Path("/run/ceph")
KEYRING = "/etc/ceph-keyring/keyring"
SCRATCH_MAP = RUN / "monmap"


def mon(name: str) -> list[str]:
    """A monitor: its address is that of its Service and is written down in the monitor map."""
    fsid, address = os.environ["CEPH_FSID"], os.environ["CEPH_PUBLIC_ADDRESS"]
    if not STORE.exists():
        _fresh(NEW)
        _monmap("--create", "--fsid", fsid, *_at(name, address))
        _run(
            *("ceph-mon", "-i", name, "--mkfs", "--mon-data", NEW),
            *("--monmap", SCRATCH_MAP, "--keyring", KEYRING),
        )
        if not (NEW / "store.db").is_dir():
            sys.exit("ceph-mon made no store; its messages are above")
        _note(NEW / "cobalt.json", {"fsid": fsid, "address": address})
        _publish()
    noted = json.loads((STORE / "cobalt.json").read_text())
    if noted["fsid"] != fsid:
        sys.exit(
            f"the volume has the data of cluster {noted['fsid']}, and Secret rook-ceph-mon is of "
            f"{fsid}: put back the Secret of that cluster, or delete the volume claims"
        )
    if noted["address"] != address:
        _run("ceph-mon", "-i", name, "--mon-data", STORE, "--extract-monmap", SCRATCH_MAP)
        # In one call it would add before it removes.
        _monmap("--rm", name)
        _monmap(*_at(name, address))
        _run("ceph-mon", "-i", name, "--mon-data", STORE, "--inject-monmap", SCRATCH_MAP)
        _note(STORE / "cobalt.json", {**noted, "address": address})
    public = ("--public-addr", address, "--public-bind-addr", os.environ["POD_IP"])
    return ["ceph-mon", "-i", name, "-f", "--mon-data", str(STORE), *public]


def mgr(name: str) -> list[str]:
    """A manager: nothing to prepare."""
    return ["ceph-mgr", "-i", name, "-f", "--public-addr", os.environ["POD_IP"]]


def osd(_: str) -> list[str]:
    """A storage daemon: the monitor gives it a number for the identity that it made up."""
    own = DATA / "identity.json"
    if not own.exists():
        key = subprocess.run(
            ["ceph-authtool", "--gen-print-key"],  # noqa: S607 the image has its own path
            check=True,
            capture_output=True,
            text=True,
        )
        _note(own, {"uuid": str(uuid.uuid4()), "key": key.stdout.strip()})
    identity = json.loads(own.read_text())
    if not STORE.exists():
        number = _register(identity)
        _fresh(NEW)
        _note_text(NEW / "keyring", f"[osd.{number}]\n\tkey = {identity['key']}\n")
        _run(
            *("ceph-osd", "-i", number, "--mkfs", "--osd-uuid", identity["uuid"]),
            *("--osd-data", NEW, "--keyring", NEW / "keyring"),
        )
        _publish()
    number = (STORE / "whoami").read_text().strip()
    here = ("--public-addr", os.environ["POD_IP"], "--cluster-addr", os.environ["POD_IP"])
    keyring = ("--keyring", str(STORE / "keyring"))
    return ["ceph-osd", "-i", number, "-f", "--osd-data", str(STORE), *keyring, *here]


def _register(identity: dict[str, str]) -> str:
    """The same identity gets the same number, however often it asks."""
    rados: Any = importlib.import_module("rados")
    limits = {"client_mount_timeout": "60", "rados_mon_op_timeout": "60"}
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.bootstrap-osd", conf=limits)
    cluster.connect()
    command = {"prefix": "osd new", "uuid": identity["uuid"], "format": "json"}
    secret = json.dumps({"cephx_secret": identity["key"]}).encode()
    code, output, message = cluster.mon_command(json.dumps(command), secret)
    cluster.shutdown()
    if code:
        sys.exit(f"the monitor refuses this storage daemon ({code}): {message}")
    return str(json.loads(output)["osdid"])


def _at(name: str, address: str) -> list[str]:
    return ["--addv", name, f"[v2:{address}:3300,v1:{address}:6789]"]


def _monmap(*arguments: str) -> None:
    _run("monmaptool", *arguments, "--set-min-mon-release", "pacific", "--clobber", SCRATCH_MAP)


def _fresh(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir()


def _publish() -> None:
    NEW.rename(STORE)
    handle = os.open(DATA, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _note(path: Path, value: dict[str, str]) -> None:
    _note_text(path, json.dumps(value))


def _note_text(path: Path, text: str) -> None:
    other = path.with_suffix(".tmp")
    with os.fdopen(os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    other.rename(path)


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], check=False)  # noqa: S603 our words
    if done.returncode:
        sys.exit(f"{command[0]} failed with {done.returncode}; its messages are above")


def main() -> None:
    """Become the daemon whose type and name are given, so that signals reach it."""
    _, kind, name = sys.argv
    command = {"mon": mon, "mgr": mgr, "osd": osd}[kind](name)
    os.execvp(command[0], command)  # noqa: S606 no shell is wanted


if __name__ == "__main__":
    main()
