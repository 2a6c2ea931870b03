"""OVS sidecar: keeps bridges, addresses and settings of a hypervisor as in its OVNChassis.

It looks every second whether the settings or the interfaces of OVS have changed, and applies
everything again from time to time. A userspace datapath loses its interfaces with their addresses when
it starts again; they are back a moment later. It may also take down an interface of a server for good:
it writes back flags that it read before another program brought the interface up.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cobaltcore.agents import processes, readiness, waiting
from cobaltcore.agents.ovs import datapath, paths
from cobaltcore.agents.ovs.settings import (
    INTEGRATION,
    TUNNELS,
    Settings,
    database_changes,
    interface_commands,
    kernel_settings,
)

AGENT = "ovs-sidecar"
DIRECTORY = Path("/etc/ovn-chassis")
INTERFACES = Path("/sys/class/net")
VSCTL = ("ovs-vsctl", f"--db=unix:{paths.SOCKET}", "--timeout=10")
UP = 1
INTERVAL_SECONDS = 1.0
APPLY_AGAIN_SECONDS = 30.0
VALID_SECONDS = 60.0


def main(_: Sequence[str]) -> None:
    """Look for as long as the pod runs."""
    readiness.withdraw(AGENT)
    sidecar = Sidecar(DIRECTORY / f"{os.environ['NODE_NAME']}.json")
    waiting.repeat(sidecar.reconcile, interval=INTERVAL_SECONDS)


def readiness_problem(_: Sequence[str]) -> str | None:
    """Ready while the settings of the chassis are applied."""
    return readiness.problem(AGENT)


class Sidecar:
    """Remembers what it has applied, and what needs no second look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._applied: tuple[str, tuple[str, ...]] | None = None
        self._applied_at = 0.0
        self._foreign: set[str] = set()

    def reconcile(self) -> None:
        """Correct what differs; what fails is tried again at the next look."""
        text = self._path.read_text() if self._path.exists() else ""
        try:
            is_applied = bool(text) and self._apply(text)
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or "").strip().splitlines()
            _log(f"{error.cmd[0]}: {lines[-1] if lines else f'exit code {error.returncode}'}")
            is_applied = False
        if not is_applied:
            self._applied = None
            readiness.withdraw(AGENT)
        elif readiness.renew(AGENT, valid_seconds=VALID_SECONDS):
            _log(f"settings applied: {text}")

    def _apply(self, text: str) -> bool:
        settings: Settings = json.loads(text)
        seen = (text, interface_ids(settings))
        if seen != self._applied or time.monotonic() - self._applied_at > APPLY_AGAIN_SECONDS:
            apply(settings)
            self._applied, self._applied_at = seen, time.monotonic()
            self._foreign = set()
        down = interfaces_down(INTERFACES) - self._foreign
        if down:
            self._foreign |= set_plugged_up(down)
        # A bridge exists for the kernel only once ovs-vswitchd has created it.
        return (INTERFACES / INTEGRATION).exists()


def apply(settings: Settings) -> None:
    """Apply everything; raise CalledProcessError if a command fails."""
    kind = datapath.choose(settings["datapath"])
    transaction = [word for each in database_changes(settings, kind) for word in ("--", *each)]
    processes.output(*VSCTL, "--no-wait", *transaction)
    for name, value in kernel_settings(settings, kind).items():
        path = Path("/proc/sys/net") / name
        if path.exists():
            path.write_text(value)
    for command in interface_commands(settings, kind):
        processes.output(*command)


def interface_ids(settings: Settings) -> tuple[str, ...]:
    """Numbers of the bridges' interfaces: they change when ovs-vswitchd restarts."""
    names = (INTEGRATION, TUNNELS, *settings["bridges"].values())
    files = [INTERFACES / name / "ifindex" for name in names]
    return tuple(file.read_text() if file.exists() else "" for file in files)


def interfaces_down(directory: Path) -> set[str]:
    """Names of interfaces that are not up."""
    found = set()
    for each in directory.iterdir():
        try:
            flags = int((each / "flags").read_text(), 16)
        except OSError:
            continue  # deleted meanwhile, or no interface
        if not flags & UP:
            found.add(each.name)
    return found


def set_plugged_up(names: set[str]) -> set[str]:
    """Bring up those that are plugged into the integration bridge; return all others."""
    plugged = set(processes.output(*VSCTL, "list-ifaces", INTEGRATION).split())
    for name in sorted(names & plugged):
        # One that was deleted with its server meanwhile is fine, any other is found again.
        if not processes.attempt("ip", "link", "set", name, "up").returncode:
            _log(f"interface {name} was down")
    return names - plugged


def _log(text: str) -> None:
    sys.stderr.write(f"{text}\n")
