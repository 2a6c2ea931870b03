"""Runs in the container of libvirtd: leaves the pod's control groups, then becomes libvirtd.

Whoever ends the pod ends what is in its control groups, and servers must outlive it.
Only the standard library and the image's own programs are at hand.
"""

import os
import select
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

TREE = Path("/host/cgroup")
PROGRAMS = Path("/etc/libvirt-programs")
TLS = Path("/etc/libvirt-tls")
KEYS = Path("/run/libvirt/cobaltcore-pki")
LOOK_SECONDS = 20.0
IDENTITY = Path("/var/lib/libvirt/cobaltcore-identity")
VIRT_TYPE = Path("/run/libvirt/virt-type")
GUESTS = "cobaltcore-guests"
SETTINGS = ("libvirtd.conf", "qemu.conf")
# Where libvirt as a client, and QEMU on both sides of a migration, look for their certificates.
PKI = {
    "CA/cacert.pem": "ca.crt",
    "libvirt/clientcert.pem": "tls.crt",
    "libvirt/private/clientkey.pem": "tls.key",
    "libvirt/servercert.pem": "tls.crt",
    "libvirt/private/serverkey.pem": "tls.key",
    "qemu/ca-cert.pem": "ca.crt",
    "qemu/server-cert.pem": "tls.crt",
    "qemu/server-key.pem": "tls.key",
    "qemu/client-cert.pem": "tls.crt",
    "qemu/client-key.pem": "tls.key",
}
# A boot sector: writes K to the debug port, then to the port that ends the machine.
BOOT_SECTOR = bytes.fromhex("b04be6e9b031e6f4f4ebfd").ljust(510, b"\0") + b"\x55\xaa"
FAST_ENOUGH_SECONDS = 2.0


def guest_groups(membership: str, tree: Path) -> Iterator[Path]:
    """The node's group for servers in every hierarchy, from a text like /proc/self/cgroup."""
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        above, found, _ = path.partition("/kubepods")
        if not found:
            continue
        for name in _mounted(controllers, tree):
            yield name / above.lstrip("/") / GUESTS


def _mounted(controllers: str, tree: Path) -> Iterator[Path]:
    if not controllers:
        # Version 2, alone or beside version 1.
        yield tree / "unified" if (tree / "unified").is_dir() else tree
        return
    names = [controllers.removeprefix("name="), *controllers.split(",")]
    for name in dict.fromkeys(names):
        if (tree / name).is_dir():
            yield tree / name
            return


def leave_pod() -> None:
    """Move this process out of the pod's groups in every hierarchy."""
    for group in guest_groups(Path("/proc/self/cgroup").read_text(), TREE):
        group.mkdir(parents=True, exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            own, above = group / name, group.parent / name
            if own.exists() and not own.read_text().strip():
                own.write_text(above.read_text())
        (group / "cgroup.procs").write_text(str(os.getpid()))


def virt_type() -> str:
    """What servers can run with: a device alone says nothing, so a small guest is tried."""
    flags = Path("/proc/cpuinfo").read_text().split()
    if not Path("/dev/kvm").exists() or not {"vmx", "svm"} & set(flags):
        return "qemu"
    sector = Path("/tmp/boot-sector")  # noqa: S108 in the container
    sector.write_bytes(BOOT_SECTOR)
    command = [
        *("qemu-system-x86_64", "-accel", "kvm", "-m", "16", "-nodefaults", "-display", "none"),
        *("-drive", f"file={sector},format=raw,if=ide", "-debugcon", "stdio"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
    ]
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False)  # noqa: S603 our words
    except subprocess.TimeoutExpired:
        return "qemu"
    is_fast = time.monotonic() - started < FAST_ENOUGH_SECONDS
    return "kvm" if done.stdout.endswith(b"K") and is_fast else "qemu"


def identity() -> str:
    """Who this node is: made up once, as nodes on one machine share what the firmware says."""
    if not IDENTITY.exists():
        new = IDENTITY.with_suffix(".new")
        new.write_text(str(uuid.uuid4()))
        new.rename(IDENTITY)
    return IDENTITY.read_text()


def configure() -> None:
    """Put settings and certificates where libvirt looks for them."""
    for name in SETTINGS:
        text = (PROGRAMS / name).read_text().replace("LISTEN", os.environ["NODE_ADDRESS"])
        (Path("/etc/libvirt") / name).write_text(text.replace("IDENTITY", identity()))
    if TLS.exists():
        take_certificates(TLS, KEYS)
        for name, source in PKI.items():
            target = Path("/etc/pki") / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.symlink_to(KEYS / source)


def take_certificates(given: Path, kept: Path) -> bool:
    """Copy the pod's certificate to the node's memory; tell whether it is another one.

    A server that has outlived its pod still sees the files of that pod, and those of the node.
    """
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = False
    for name in sorted(set(PKI.values())):
        content, target = (given / name).read_bytes(), kept / name
        if not target.exists() or target.read_bytes() != content:
            changed = True
            new = kept / f"{name}.new"
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            new.rename(target)
    return changed


def keep_certificates() -> None:
    """Take up renewed certificates for ever, and have libvirtd read them."""
    command = ["virt-admin", "-c", "libvirtd:///system", "server-update-tls", "libvirtd"]
    while True:
        if take_certificates(TLS, KEYS):
            subprocess.run(command, check=False)  # noqa: S603 our words
        select.select([], [], [], LOOK_SECONDS)


def main() -> None:
    """Prepare the node, then become libvirtd, so that signals reach it."""
    if shutil.which("libvirtd") is None:
        sys.exit("the image has no libvirtd")
    configure()
    found = virt_type()
    VIRT_TYPE.write_text(f"{found}\n")
    sys.stderr.write(f"servers run with {found}\n")
    leave_pod()
    os.execvp("libvirtd", ["libvirtd", "--listen"])  # noqa: S606, S607 no shell is wanted


if __name__ == "__main__":
    keep_certificates() if sys.argv[1:] == ["certificates"] else main()
