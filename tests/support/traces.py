"""Resources that a lab may leave on a machine, as snapshots to compare.

Resources of other labs that run at the same time are excluded.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cobaltlab import cgroups, network, pidfile, statedir, subnets

# Directories in which Kubernetes and container runtimes leave files.
DIRECTORIES = (
    *("/etc", "/etc/cni", "/opt", "/opt/cni", "/run", "/run/netns", "/usr/libexec"),
    *("/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/lib/containerd"),
    *("/var/lib/cobaltcore", "/var/log", "/var/run"),
)
NAMESPACES = ("ipc", "mnt", "net", "pid", "uts")


@dataclass(frozen=True)
class Traces:
    """A snapshot of the resources of a machine."""

    mounts: frozenset[str]
    links: frozenset[str]
    routes: frozenset[str]
    rules: frozenset[str]
    cgroups: frozenset[str]
    files: frozenset[str]

    def added_since(self, earlier: "Traces") -> set[str]:
        """Resources that did not exist earlier."""
        fields = ("mounts", "links", "routes", "rules", "cgroups", "files")
        return {
            f"{name}: {entry}"
            for name in fields
            for entry in getattr(self, name) - getattr(earlier, name)
        }


def take(own: str) -> Traces:
    """Take a snapshot, without resources of labs other than `own`."""
    before = _patterns_of_others(own)
    found = _everything()
    # Also exclude labs that appeared or disappeared during the snapshot.
    patterns = before | _patterns_of_others(own)
    foreign = re.compile("|".join(sorted(patterns)) or r"(?!)")
    return Traces(
        **{
            name: frozenset(entry for entry in entries if not foreign.search(entry))
            for name, entries in found.items()
        }
    )


def _patterns_of_others(own: str) -> set[str]:
    """Patterns of links, addresses, cgroups and files of other labs."""
    owners = [owner for owner in network.bridge_owners() if owner.name != own]
    grouped = cgroups.instances(cgroups.detect())
    names = {*grouped, *(owner.name for owner in owners)} - {own}
    patterns = {rf"/cobaltcore/{re.escape(name)}(/|$)" for name in names}
    if names:
        # Resources shared by all labs are deleted with the last one.
        patterns |= {r"/cobaltcore$", rf"^{statedir.DEFAULT_ROOT}$"}
    for owner in owners:
        patterns.add(rf"\b{network.bridge(owner.index)}([a-z]\w*)?\b")
        for part in subnets.Subnets(owner.index).block.subnets(new_prefix=16):
            patterns.add(rf"\b{re.escape(str(part.network_address).removesuffix('.0.0'))}\.")
    return patterns


def _everything() -> dict[str, frozenset[str]]:
    return {
        "mounts": _lines(["findmnt", "--raw", "--noheadings", "--output", "TARGET,FSTYPE"]),
        "links": frozenset(each.name for each in Path("/sys/class/net").iterdir()),
        "routes": _lines(["ip", "-4", "route", "show", "table", "all"])
        | _lines(["ip", "-6", "route", "show", "table", "all"]),
        "rules": _lines(["nft", "list", "ruleset"]),
        "cgroups": frozenset(
            str(group)
            for top in cgroups.detect().group(cgroups.TOP)
            for group in (top, *top.glob("**/"))
            if group.exists()
        ),
        "files": frozenset(
            str(entry)
            for directory in DIRECTORIES
            if Path(directory).is_dir()
            for entry in Path(directory).iterdir()
        ),
    }


def identities(pids: Iterable[int]) -> set[pidfile.Identity]:
    """Identities of running processes."""
    return {found for pid in pids if (found := pidfile.identity(pid))}


def alive(processes: Iterable[pidfile.Identity]) -> set[pidfile.Identity]:
    """The processes that are still running."""
    return {each for each in processes if pidfile.identity(each.pid) == each}


def namespaces(pids: Iterable[int]) -> set[str]:
    """The namespaces of some processes."""
    found = set()
    for pid in pids:
        for kind in NAMESPACES:
            try:
                found.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
            except OSError:
                continue
    return found


def all_namespaces() -> set[str]:
    """The namespaces of all processes, and those kept by a bind mount."""
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
    mounted = {line for line in _lines(["findmnt", "-rno", "SOURCE"]) if "nsfs[" in line}
    return namespaces(pids) | {line.removeprefix("nsfs[").removesuffix("]") for line in mounted}


def _lines(command: list[str]) -> frozenset[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return frozenset(line.strip() for line in done.stdout.splitlines())
