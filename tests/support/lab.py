"""A lab for tests, with its own name and directory, used through the `cobalt` command."""

import json
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cobaltcore.agents import waiting
from cobaltlab import (
    cgroups,
    containerd,
    network,
    nodeprocess,
    ociarchive,
    pidfile,
    statedir,
)
from tests.support import busybox, workloads

T = TypeVar("T")

LAB_VARIABLE = "COBALT_E2E_LAB"
"""Names a running lab that tests use instead of a new one."""
TIMEOUT_SECONDS = 600.0
POLL_SECONDS = 0.3


class CommandFailed(AssertionError):
    """A command failed; the message contains its output."""


def eventually(condition: Callable[[], T], what: str, *, seconds: float = TIMEOUT_SECONDS) -> T:
    """Wait until a condition returns a true value, and return that value."""
    found: list[T] = []

    def holds() -> bool:
        found[:] = [condition()]
        return bool(found[0])

    if not waiting.wait_until(holds, interval=POLL_SECONDS, timeout=seconds):
        raise AssertionError(f"not within {seconds:.0f} s: {what}")
    return found[0]


@dataclass
class Lab:
    """One lab and operations of tests on it."""

    root: Path
    name: str = field(default_factory=lambda: f"e2e-{uuid.uuid4().hex[:6]}")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, statedir.ROOT_VARIABLE: str(self.root)}

    @property
    def state_dir(self) -> statedir.StateDir:
        return statedir.StateDir(self.name, self.root / self.name)

    @property
    def images(self) -> Path:
        """The OCI layout for `cobalt up --images`."""
        return self.root / "images"

    @cached_property
    def image(self) -> str:
        """The reference of the busybox image."""
        return ociarchive.archive(busybox.image()).reference

    def command(self, *arguments: str) -> list[str]:
        verb, *rest = arguments
        return [
            sys.executable,
            "-m",
            "cobaltcore.cli.main",
            verb,
            "--name",
            self.name,
            *rest,
        ]

    def cobalt(self, *arguments: str, input: str = "") -> str:  # noqa: A002
        """Run a `cobalt` command for this lab."""
        return run(self.command(*arguments), self.environment, text=input)

    def up(self, *arguments: str, until: str = "cluster") -> dict[str, Any]:
        """Start the lab and return the last event, the result."""
        lines = self.cobalt("up", "--until", until, "--yes", "--json", *arguments).splitlines()
        result: dict[str, Any] = json.loads(lines[-1])
        return result

    def down(self, *arguments: str) -> None:
        self.cobalt("down", *arguments)

    def status(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "cobaltcore.cli.main", "status", "-o", "json"]
        found: dict[str, Any] = json.loads(run(command, self.environment))
        return found

    def load_image(self, *names: str) -> None:
        """Import the busybox image into all nodes, or the named ones."""
        archive = self.root / "busybox.tar"
        archive.write_bytes(ociarchive.archive(busybox.image()).content)
        for node in (
            each for each in self.state_dir.node_processes() if each.name in names or not names
        ):
            eventually(containerd.socket(node).exists, f"containerd of {node.name}")
            containerd.import_image(node, archive)

    # --- Kubernetes ---------------------------------------------------------------------------

    def kubectl(self, *arguments: str, input: str = "") -> str:  # noqa: A002
        """Run the lab's kubectl directly, which is faster than `cobalt kubectl`."""
        environment = {**self.environment, "KUBECONFIG": str(self.state_dir.kubeconfig)}
        return run([str(self.state_dir.programs / "kubectl"), *arguments], environment, text=input)

    def attempt(self, *arguments: str, input: str = "") -> str:  # noqa: A002
        """Run kubectl; return an empty string if it fails."""
        try:
            return self.kubectl(*arguments, input=input)
        except CommandFailed:
            return ""

    def get(self, *arguments: str) -> dict[str, Any]:
        """Get objects as JSON; an empty dict if kubectl fails."""
        found: dict[str, Any] = json.loads(
            self.attempt("get", *arguments, "-o", "json", "--request-timeout=10s") or "{}"
        )
        return found

    def create(self, namespace: str, *objects: Mapping[str, Any]) -> None:
        """Apply objects in a namespace."""
        self.kubectl("apply", "-n", namespace, "-f", "-", input=workloads.text(*objects))

    def ready_nodes(self) -> set[str]:
        nodes = self.get("nodes").get("items", [])
        return {node["metadata"]["name"] for node in nodes if _is_true(node, "Ready")}

    def wait_for_pod(self, namespace: str, name: str) -> None:
        wait = ("wait", "--for=condition=Ready", "--timeout=30s", "-n", namespace, f"pod/{name}")
        try:
            eventually(lambda: self.attempt(*wait), f"pod {name} Ready")
        except AssertionError as error:
            pods = self.attempt("get", "pods", "-A", "-o", "wide")
            events = self.attempt("get", "events", "-n", namespace)
            raise AssertionError(f"{error}\n{pods}\n{events}") from error

    # --- processes ----------------------------------------------------------------------------

    def node(self, name: str) -> nodeprocess.NodeProcess:
        return next(each for each in self.state_dir.node_processes() if each.name == name)

    def processes(self, node: str = "") -> dict[int, str]:
        """PIDs in the host's namespace with their command lines."""
        found = cgroups.processes(cgroups.detect(), nodeprocess.cgroup_of(self.name, node))
        return {pid: line for pid in found if (line := command_line(pid))}

    def daemon(self, node: str, program: str) -> int:
        """Wait for the process of a daemon in a node."""
        pattern = re.compile(rf"^(\S*/)?{program}( |$)")
        return eventually(
            lambda: next(
                (pid for pid, line in self.processes(node).items() if pattern.search(line)), 0
            ),
            f"{program} is running in {node}",
        )

    def supervisor(self) -> int:
        found = pidfile.running(self.state_dir.directory / "supervisor.pid")
        assert found is not None
        return found

    def kill_everything(self) -> None:
        """Kill all processes of the lab, as a power failure would."""
        machines = self.state_dir.node_processes()
        os.kill(self.supervisor(), signal.SIGKILL)
        for pid in self.processes():
            kill(pid)
        eventually(lambda: not any(each.pid() for each in machines), "no node is running")

    def remove(self) -> None:
        """Remove the lab in any state."""
        self.down("--purge")
        assert self.name not in cgroups.instances(cgroups.detect())
        assert self.name not in {owner.name for owner in network.bridge_owners()}


@contextmanager
def existing_or_new(root: Path, up: Callable[[Lab], object]) -> Iterator[Lab]:
    """The lab in LAB_VARIABLE, or a new one that is removed at the end."""
    if name := os.environ.get(LAB_VARIABLE):
        yield Lab(statedir.root(os.environ), name)
        return
    found = Lab(root)
    try:
        up(found)
        yield found
    finally:
        found.remove()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""


def run(command: list[str], environment: Mapping[str, str], *, text: str = "") -> str:
    done = subprocess.run(
        command, env=environment, input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandFailed(
            f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def _is_true(obj: Mapping[str, Any], condition: str) -> bool:
    found = obj.get("status", {}).get("conditions", ())
    return any(each["type"] == condition and each["status"] == "True" for each in found)
