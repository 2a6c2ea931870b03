"""Starts a daemon of Ceph: initializes its data once, then execs it.

Data is initialized under another name and renamed when it is complete, so a crash leaves nothing or
all of it.
"""

import importlib
import json
import os
import shutil
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from cobaltcore.agents import processes

DATA = Path("/var/lib/ceph/data")
STORE, NEW = DATA / "store", DATA / "new"
RUN = Path("/run/ceph")
KEYRING = "/etc/ceph-keyring/keyring"
SCRATCH_MAP = RUN / "monmap"


def mon(name: str) -> list[str]:
    """Prepare a monitor; its address in the monmap is the one of its Service."""
    fsid, address = os.environ["CEPH_FSID"], os.environ["CEPH_PUBLIC_ADDRESS"]
    if not STORE.exists():
        _fresh(NEW)
        _monmap("--create", "--fsid", fsid, *_addresses(name, address))
        processes.run(
            *("ceph-mon", "-i", name, "--mkfs", "--mon-data", NEW),
            *("--monmap", SCRATCH_MAP, "--keyring", KEYRING),
        )
        if not (NEW / "store.db").is_dir():
            sys.exit("ceph-mon --mkfs created no store.db; its messages are above")
        _write(NEW / "cobalt.json", {"fsid": fsid, "address": address})
        _publish()
    recorded = json.loads((STORE / "cobalt.json").read_text())
    if recorded["fsid"] != fsid:
        sys.exit(
            f"the volume belongs to cluster {recorded['fsid']}, Secret rook-ceph-mon to {fsid}: "
            "restore the Secret of that cluster, or delete the PersistentVolumeClaims"
        )
    if recorded["address"] != address:
        processes.run("ceph-mon", "-i", name, "--mon-data", STORE, "--extract-monmap", SCRATCH_MAP)
        # monmaptool would add before it removes in one call.
        _monmap("--rm", name)
        _monmap(*_addresses(name, address))
        processes.run("ceph-mon", "-i", name, "--mon-data", STORE, "--inject-monmap", SCRATCH_MAP)
        _write(STORE / "cobalt.json", {**recorded, "address": address})
    public = ("--public-addr", address, "--public-bind-addr", os.environ["POD_IP"])
    return ["ceph-mon", "-i", name, "-f", "--mon-data", str(STORE), *public]


def mgr(name: str) -> list[str]:
    return ["ceph-mgr", "-i", name, "-f", "--public-addr", os.environ["POD_IP"]]


def osd(_: str) -> list[str]:
    """Prepare an OSD; the monitor assigns the number to the UUID generated here."""
    own = DATA / "identity.json"
    if not own.exists():
        key = processes.output("ceph-authtool", "--gen-print-key")
        _write(own, {"uuid": str(uuid.uuid4()), "key": key})
    identity = json.loads(own.read_text())
    if not STORE.exists():
        number = _register(identity)
        _fresh(NEW)
        _write_text(NEW / "keyring", f"[osd.{number}]\n\tkey = {identity['key']}\n")
        processes.run(
            *("ceph-osd", "-i", number, "--mkfs", "--osd-uuid", identity["uuid"]),
            *("--osd-data", NEW, "--keyring", NEW / "keyring"),
        )
        _publish()
    number = (STORE / "whoami").read_text().strip()
    here = ("--public-addr", os.environ["POD_IP"], "--cluster-addr", os.environ["POD_IP"])
    keyring = ("--keyring", str(STORE / "keyring"))
    return ["ceph-osd", "-i", number, "-f", "--osd-data", str(STORE), *keyring, *here]


def _register(identity: dict[str, str]) -> str:
    """Register with the monitor; idempotent for the same identity."""
    rados: Any = importlib.import_module("rados")
    limits = {"client_mount_timeout": "60", "rados_mon_op_timeout": "60"}
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.bootstrap-osd", conf=limits)
    cluster.connect()
    command = {"prefix": "osd new", "uuid": identity["uuid"], "format": "json"}
    secret = json.dumps({"cephx_secret": identity["key"]}).encode()
    code, output, message = cluster.mon_command(json.dumps(command), secret)
    cluster.shutdown()
    if code:
        sys.exit(f"the monitor refuses this OSD ({code}): {message}")
    return str(json.loads(output)["osdid"])


def _addresses(name: str, address: str) -> list[str]:
    return ["--addv", name, f"[v2:{address}:3300,v1:{address}:6789]"]


def _monmap(*arguments: str) -> None:
    processes.run(
        "monmaptool", *arguments, "--set-min-mon-release", "pacific", "--clobber", SCRATCH_MAP
    )


def _fresh(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir()


def _publish() -> None:
    NEW.rename(STORE)
    handle = os.open(DATA, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _write(path: Path, value: dict[str, str]) -> None:
    _write_text(path, json.dumps(value))


def _write_text(path: Path, text: str) -> None:
    other = path.with_suffix(".tmp")
    with os.fdopen(os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    other.rename(path)


def main(arguments: Sequence[str]) -> NoReturn:
    """Start the daemon of a type and name."""
    kind, name = arguments
    processes.become(*{"mon": mon, "mgr": mgr, "osd": osd}[kind](name))
