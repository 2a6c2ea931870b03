"""What a lab could leave on a machine: listings to compare, and identities to look for.

Other labs may run beside: what belongs to them is left out of the listings.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.lab import cgroups, home, kernel, links, ranges

# Directories in which Kubernetes and container runtimes usually leave something.
PLACES = (
    *("/etc", "/etc/cni", "/opt", "/opt/cni", "/run", "/run/netns", "/usr/libexec"),
    *("/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/lib/containerd"),
    *("/var/lib/cobaltcore", "/var/log", "/var/run"),
)
NAMESPACES = ("ipc", "mnt", "net", "pid", "uts")


@dataclass(frozen=True)
class Traces:
    """Everything of a machine that can be listed."""

    mounts: frozenset[str]
    links: frozenset[str]
    routes: frozenset[str]
    rules: frozenset[str]
    control_groups: frozenset[str]
    files: frozenset[str]

    def beyond(self, earlier: "Traces") -> set[str]:
        """What is there now and was not then."""
        fields = ("mounts", "links", "routes", "rules", "control_groups", "files")
        return {
            f"{name}: {entry}"
            for name in fields
            for entry in getattr(self, name) - getattr(earlier, name)
        }


def take(own: str) -> Traces:
    """List everything as it is now, but for what belongs to labs of another name than `own`."""
    before = _marks_of_others(own)
    found = _everything()
    # Theirs is also what appeared or went while everything was listed.
    marks = before | _marks_of_others(own)
    foreign = re.compile("|".join(sorted(marks)) or r"(?!)")
    return Traces(
        **{
            name: frozenset(entry for entry in entries if not foreign.search(entry))
            for name, entries in found.items()
        }
    )


def _marks_of_others(own: str) -> set[str]:
    """Patterns of links, addresses, control groups and files of labs beside."""
    owners = [owner for owner in links.owners() if owner.name != own]
    grouped = cgroups.instances(cgroups.find())
    names = {*grouped, *(owner.name for owner in owners)} - {own}
    marks = {rf"/cobaltcore/{re.escape(name)}(/|$)" for name in names}
    if names:
        # What all labs have in common goes with the last one.
        marks |= {r"/cobaltcore$", rf"^{home.DEFAULT_ROOT}$"}
    for owner in owners:
        marks.add(rf"\b{links.bridge(owner.index)}([a-z]\w*)?\b")
        for part in ranges.Ranges(owner.index).block.subnets(new_prefix=16):
            marks.add(rf"\b{re.escape(str(part.network_address).removesuffix('.0.0'))}\.")
    return marks


def _everything() -> dict[str, frozenset[str]]:
    return {
        "mounts": _lines(["findmnt", "--raw", "--noheadings", "--output", "TARGET,FSTYPE"]),
        "links": frozenset(each.name for each in Path("/sys/class/net").iterdir()),
        "routes": _lines(["ip", "-4", "route", "show", "table", "all"])
        | _lines(["ip", "-6", "route", "show", "table", "all"]),
        "rules": _lines(["nft", "list", "ruleset"]),
        "control_groups": frozenset(
            str(group)
            for top in cgroups.find().group(cgroups.TOP)
            for group in (top, *top.glob("**/"))
            if group.exists()
        ),
        "files": frozenset(
            str(entry)
            for place in PLACES
            if Path(place).is_dir()
            for entry in Path(place).iterdir()
        ),
    }


def identities(pids: Iterable[int]) -> set[kernel.Identity]:
    """Processes that cannot be mistaken for later ones."""
    return {found for pid in pids if (found := kernel.identity(pid))}


def alive(processes: Iterable[kernel.Identity]) -> set[kernel.Identity]:
    """Which of some processes still run."""
    return {each for each in processes if kernel.identity(each.pid) == each}


def namespaces(pids: Iterable[int]) -> set[str]:
    """The namespaces that processes live in."""
    found = set()
    for pid in pids:
        for kind in NAMESPACES:
            try:
                found.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
            except OSError:
                continue
    return found


def all_namespaces() -> set[str]:
    """The namespaces of all processes of the machine, and those that are held by a mount."""
    everyone = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
    held = {line for line in _lines(["findmnt", "-rno", "SOURCE"]) if "nsfs[" in line}
    return namespaces(everyone) | {line.removeprefix("nsfs[").removesuffix("]") for line in held}


def _lines(command: list[str]) -> frozenset[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return frozenset(line.strip() for line in done.stdout.splitlines())
