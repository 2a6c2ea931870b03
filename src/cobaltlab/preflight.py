"""Checks whether this machine can run a lab; lists all problems at once, each with its fix.

`gather` inspects the machine; `problems` is pure.
"""

import os
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cobaltlab import cgroups, errors, packages, ports, registry, sysctl

DISK_BYTES = 4 * 10**9
MEMORY_BYTES = 2 * 10**9

_FILE_SYSTEMS = ("overlay",)
_NET_ADMIN, _SYS_ADMIN = 12, 21
_CAPABILITIES: Mapping[str, int] = {"CAP_NET_ADMIN": _NET_ADMIN, "CAP_SYS_ADMIN": _SYS_ADMIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The properties of a machine that matter for a lab."""

    system: str = "Linux"
    user: int = 0
    capabilities: int = -1
    cgroups_missing: Sequence[str] = ()
    cgroups_unified: bool = False
    file_systems: frozenset[str] = frozenset(_FILE_SYSTEMS)
    bridge_netfilter: bool = True
    free_bytes: Mapping[Path, int]
    memory_bytes: int
    missing_packages: Sequence[str] = ()
    low_limits: Mapping[str, int] = field(default_factory=dict)
    taken_ports: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """One unmet requirement and its fix."""

    what: str
    fix: str


class NotReady(errors.LabError):
    """The machine does not meet the requirements of a lab."""

    def __init__(self, found: Sequence[Problem]) -> None:
        count = "1 requirement is" if len(found) == 1 else f"{len(found)} requirements are"
        lines = "".join(f"\n  - {each.what}\n    fix: {each.fix}" for each in found)
        super().__init__(f"this machine cannot run a lab: {count} not met:{lines}")
        self.problems = tuple(found)


def gather(directories: Sequence[Path], programs: Mapping[str, str] | None = None) -> Facts:
    """Inspect this machine; `directories` will take data, `programs` are needed besides the usual."""
    if platform.system() != "Linux":
        return Facts(system=platform.system(), free_bytes={}, memory_bytes=MEMORY_BYTES)
    return Facts(
        user=os.geteuid(),
        capabilities=_own_capabilities(),
        cgroups_missing=cgroups.missing_controllers(),
        cgroups_unified=cgroups.detect().unified,
        file_systems=frozenset(_file_systems()),
        bridge_netfilter=Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        free_bytes={each: shutil.disk_usage(_existing(each)).free for each in directories},
        memory_bytes=_available_memory(),
        missing_packages=packages.missing(programs),
        low_limits=sysctl.too_low(),
        taken_ports=ports.taken([registry.PORT]),
    )


def problems(facts: Facts) -> list[Problem]:
    """All unmet requirements."""
    if facts.system != "Linux":
        return [
            Problem(
                f"the lab needs Linux, and this machine runs {facts.system}",
                "use a virtual machine with Debian 12",
            )
        ]
    checks: list[Callable[[Facts], list[Problem]]] = [
        _privileges,
        _cgroups,
        _kernel,
        _disk,
        _memory,
        _packages,
        _limits,
        _ports,
    ]
    return [problem for check in checks for problem in check(facts)]


def _privileges(facts: Facts) -> list[Problem]:
    if facts.user:
        return [
            Problem("nodes need root, for namespaces and mounts", "run the command with sudo -E")
        ]
    lacking = [name for name, bit in _CAPABILITIES.items() if not facts.capabilities >> bit & 1]
    if not lacking:
        return []
    return [
        Problem(
            f"root lacks {' and '.join(lacking)}, as in an unprivileged container",
            "use a virtual machine, or a container with --privileged",
        )
    ]


def _cgroups(facts: Facts) -> list[Problem]:
    if not facts.cgroups_missing:
        return []
    names = ", ".join(facts.cgroups_missing)
    if facts.cgroups_unified:
        return [
            Problem(
                f"cgroup v2 lacks the controllers {names}",
                "enable them in the kernel and in cgroup.subtree_control of the root cgroup",
            )
        ]
    return [
        Problem(
            f"the cgroup v1 controllers {names} are not mounted under /sys/fs/cgroup",
            "mount each one, for example: mkdir -p /sys/fs/cgroup/cpu && "
            "mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu",
        )
    ]


def _kernel(facts: Facts) -> list[Problem]:
    absent = [each for each in _FILE_SYSTEMS if each not in facts.file_systems]
    found = [
        Problem(f"the kernel has no {name} file system", f"load it: modprobe {name}")
        for name in absent
    ]
    if not facts.bridge_netfilter:
        found.append(
            Problem(
                "bridged packets bypass nftables, so Services would not work",
                "load the kernel module: modprobe br_netfilter",
            )
        )
    return found


def _disk(facts: Facts) -> list[Problem]:
    return [
        Problem(
            f"{directory} has {free / 10**9:.1f} GB free, and a lab needs {DISK_BYTES / 10**9:.0f} GB",
            "free disk space there, or set COBALTCORE_STATE and XDG_CACHE_HOME to another disk",
        )
        for directory, free in facts.free_bytes.items()
        if free < DISK_BYTES
    ]


def _memory(facts: Facts) -> list[Problem]:
    if facts.memory_bytes >= MEMORY_BYTES:
        return []
    available, needed = facts.memory_bytes / 10**9, MEMORY_BYTES / 10**9
    return [
        Problem(
            f"{available:.1f} GB of memory are available, and a lab needs {needed:.0f} GB",
            "stop other programs, or use a machine with more memory",
        )
    ]


def _packages(facts: Facts) -> list[Problem]:
    if not facts.missing_packages:
        return []
    names = " ".join(facts.missing_packages)
    return [
        Problem(
            f"{len(facts.missing_packages)} packages are not installed: {names}",
            f"install them: cobalt up --yes, or apt-get install {names}",
        )
    ]


def _limits(facts: Facts) -> list[Problem]:
    return [
        Problem(
            f"sysctl {name.replace('/', '.')} is {value}, and several nodes need "
            f"{sysctl.MINIMUM[name]}",
            f"raise it: sysctl -w {name.replace('/', '.')}={sysctl.MINIMUM[name]}",
        )
        for name, value in facts.low_limits.items()
    ]


def _ports(facts: Facts) -> list[Problem]:
    return [
        Problem(
            f"port {port} is in use on all addresses by {who}; nodes pull images from this port",
            "stop that program, or let it listen on one address only, for example 127.0.0.1",
        )
        for port, who in facts.taken_ports.items()
    ]


def _own_capabilities() -> int:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return int(effective.split()[1], 16)


def _file_systems() -> list[str]:
    return [line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()]


def _available_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def _existing(path: Path) -> Path:
    """The nearest parent that exists and is readable."""
    while not os.access(path, os.R_OK):
        path = path.parent
    return path
