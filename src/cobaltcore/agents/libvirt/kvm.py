"""Whether KVM runs guests on this node: a device alone proves nothing, so a small guest is tried."""

import subprocess
import time
from pathlib import Path

from cobaltcore.agents import processes

# Writes K to the debug port, then to the port that ends the machine.
BOOT_SECTOR = bytes.fromhex("b04be6e9b031e6f4f4ebfd").ljust(510, b"\0") + b"\x55\xaa"
FAST_ENOUGH_SECONDS = 2.0
TIMEOUT_SECONDS = 10.0


def virt_type() -> str:
    """`kvm` if a guest ran with it, and not emulated; else `qemu`."""
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
        done = processes.attempt(*command, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return "qemu"
    is_fast = time.monotonic() - started < FAST_ENOUGH_SECONDS
    return "kvm" if done.stdout.endswith("K") and is_fast else "qemu"
