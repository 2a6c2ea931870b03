"""Certificates of libvirtd and QEMU: keeps the node's copy as the pod's Secret is.

A server that has outlived its pod still sees the files of that pod, and those of the node.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from cobaltcore.agents import processes, readiness, waiting

AGENT = "libvirt-certificates"
SECRET = Path("/etc/libvirt-tls")
NODE = Path("/run/libvirt/cobaltcore-pki")
PKI = Path("/etc/pki")
# Where libvirt as a client, and QEMU on both sides of a migration, look for their certificates.
LINKS = {
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
UPDATE = ("virt-admin", "-c", "libvirtd:///system", "server-update-tls", "libvirtd")
INTERVAL_SECONDS = 20.0
VALID_SECONDS = 60.0


def main(_: Sequence[str]) -> None:
    """Copy renewed certificates for as long as the pod runs."""
    readiness.withdraw(AGENT)
    waiting.repeat(renew, interval=INTERVAL_SECONDS)


def readiness_problem(_: Sequence[str]) -> str | None:
    """Ready while the node's copy is that of the Secret."""
    return readiness.problem(AGENT)


def renew() -> None:
    """Copy what has changed, and have libvirtd read it."""
    if copy(SECRET, NODE):
        processes.attempt(*UPDATE)
    readiness.renew(AGENT, valid_seconds=VALID_SECONDS)


def install() -> None:
    """Put certificates where libvirt and QEMU look for them."""
    copy(SECRET, NODE)
    for name, source in LINKS.items():
        link = PKI / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(NODE / source)


def copy(secret: Path, node: Path) -> bool:
    """Copy the pod's certificate to the node's memory; True if it is another one."""
    node.mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = False
    for name in sorted(set(LINKS.values())):
        content, target = (secret / name).read_bytes(), node / name
        if not target.exists() or target.read_bytes() != content:
            changed = True
            new = node / f"{name}.new"
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            new.rename(target)
    return changed
