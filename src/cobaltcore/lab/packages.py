"""Programs of the distribution that a lab needs, and their installation on Debian."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cobaltcore.lab import errors, kernel, nodeconfig

# A program that must be there, and the Debian package that brings it (with runc and iptables).
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
TAIL_LINES = 8


def missing() -> list[str]:
    """Packages whose programs are not there."""
    absent = [package for program, package in PROGRAMS.items() if not _is_there(program)]
    return list(dict.fromkeys(absent))


def install(names: Sequence[str], *, report: Callable[[str], None]) -> None:
    """Install Debian packages, with fresh package lists if the present ones do not know them."""
    if not shutil.which("apt-get"):
        programs = [program for program, package in PROGRAMS.items() if package in names]
        raise errors.LabError(
            f"packages can be installed on Debian and its kin only, and {' '.join(names)} are missing",
            hint=f"install what brings these programs by hand: {' '.join(programs or names)}",
        )
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *names]
    report(f"installing {' '.join(names)}")
    if _apt(command) is None:
        return
    report("fetching package lists")
    failure = _apt(["apt-get", "update"])
    if failure is None:
        report(f"installing {' '.join(names)}")
        failure = _apt(command)
    if failure is not None:
        raise errors.LabError(
            f"packages could not be installed: {' '.join(names)}\n{failure}",
            hint="let this machine reach a Debian mirror (see /etc/apt/sources.list*), or install "
            "the packages by hand",
        )


def load_modules() -> None:
    """Load kernel modules that are not loaded on demand; what is built in or absent stays so."""
    absent = [name for name, sign in MODULES.items() if not sign.exists()]
    modprobe = shutil.which("modprobe", path=kernel.SYSTEM_PATH)
    if absent and modprobe:
        subprocess.run([modprobe, "-a", *absent], capture_output=True, check=False)  # noqa: S603


def _is_there(program: str) -> bool:
    return shutil.which(program, path=kernel.SYSTEM_PATH) is not None


def _apt(command: Sequence[str]) -> str | None:
    """Run apt-get; return the end of what it said if it failed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(  # noqa: S603 no shell, names are ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if not done.returncode:
        return None
    return "\n".join(f"  {line}" for line in done.stdout.splitlines()[-TAIL_LINES:])
