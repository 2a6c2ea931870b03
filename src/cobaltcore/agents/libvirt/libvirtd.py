"""Prepare a node for libvirt: settings, certificates, virtualization type; then become libvirtd."""

import os
import shutil
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from cobaltcore.agents import processes
from cobaltcore.agents.libvirt import certificates, cgroups, kvm

SETTINGS = Path("/etc/libvirt-settings")
IDENTITY = Path("/var/lib/libvirt/cobaltcore-identity")
VIRT_TYPE = Path("/run/libvirt/virt-type")
FILES = ("libvirtd.conf", "qemu.conf")


def main(_: Sequence[str]) -> None:
    """libvirtd replaces this process, so that signals reach it."""
    if shutil.which("libvirtd") is None:
        sys.exit("the image has no libvirtd")
    install_settings()
    certificates.install()
    found = kvm.virt_type()
    VIRT_TYPE.write_text(f"{found}\n")
    sys.stderr.write(f"virtualization type: {found}\n")
    cgroups.leave_pod()
    processes.become("libvirtd", "--listen")


def install_settings() -> None:
    """Fill in what differs between nodes."""
    for name in FILES:
        text = (SETTINGS / name).read_text().replace("LISTEN", os.environ["NODE_ADDRESS"])
        (Path("/etc/libvirt") / name).write_text(text.replace("IDENTITY", identity()))


def identity() -> str:
    """The node's UUID, generated once: nodes on one machine share the firmware's."""
    if not IDENTITY.exists():
        new = IDENTITY.with_suffix(".new")
        new.write_text(str(uuid.uuid4()))
        new.rename(IDENTITY)
    return IDENTITY.read_text()
