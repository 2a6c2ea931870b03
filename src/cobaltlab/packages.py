"""Debian packages and kernel modules that a lab needs."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from cobaltlab import command, kernel, nodeconfig

# Required program: Debian package that contains it.
PROGRAMS: Mapping[str, str] = {
    "ip": "iproute2",
    "ping": "iputils-ping",
    "ethtool": "ethtool",
    "nft": "nftables",
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    f"{nodeconfig.PLUGINS}/bridge": "containernetworking-plugins",
    "iptables": "iptables",
}
MODULES: Mapping[str, Path] = {
    "overlay": Path("/sys/module/overlay"),
    "br_netfilter": Path("/proc/sys/net/bridge"),
}


def missing(further: Mapping[str, str] | None = None) -> list[str]:
    """Packages whose programs are not installed, of every lab and of this one."""
    wanted = {**PROGRAMS, **(further or {})}
    absent = [package for program, package in wanted.items() if not _is_installed(program)]
    return list(dict.fromkeys(absent))


def load_modules() -> None:
    """Load kernel modules that the kernel does not load on demand, if they exist."""
    absent = [name for name, path in MODULES.items() if not path.exists()]
    modprobe = shutil.which("modprobe", path=kernel.SYSTEM_PATH)
    if absent and modprobe:
        command.run([modprobe, "-a", *absent])


def _is_installed(program: str) -> bool:
    return shutil.which(program, path=kernel.SYSTEM_PATH) is not None
