"""A lab of its own for tests: a name and a directory that no other lab uses, driven by `cobalt`."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cobaltcore.lab import cgroups, containers, home, kernel, links, machine, ociarchive
from tests.support import busybox, workloads

T = TypeVar("T")

GIVEN = "COBALT_E2E_LAB"
"""The variable that names a lab which runs already."""
PATIENCE_SECONDS = 600.0
# Asking costs a process each time: soon at first, then less and less often.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0


class CommandFailed(AssertionError):
    """A command ended with an error; the message has its output."""


def eventually(condition: Callable[[], T], what: str, *, seconds: float = PATIENCE_SECONDS) -> T:
    """Wait until a condition returns something true, and return that."""
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        select.select([], [], [], pause)
        pause = min(pause * 1.3, LONGEST_PAUSE_SECONDS)
    return found


@dataclass
class Lab:
    """One instance; everything a test does with it goes through the command line."""

    root: Path
    name: str = field(default_factory=lambda: f"e2e-{uuid.uuid4().hex[:6]}")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, home.ROOT_VARIABLE: str(self.root)}

    @property
    def place(self) -> home.Home:
        return home.Home(self.name, self.root / self.name)

    @property
    def images(self) -> Path:
        """The layout from which nodes pull, if the lab was started with it."""
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
        """Give nodes the busybox image, all or those that need it."""
        archive = self.root / "busybox.tar"
        archive.write_bytes(ociarchive.archive(busybox.image()).content)
        for node in (each for each in self.place.machines() if each.name in names or not names):
            eventually(containers.socket(node).exists, f"containerd of {node.name}")
            containers.load(node, archive)

    # --- Kubernetes ---------------------------------------------------------------------------

    def kubectl(self, *arguments: str, input: str = "") -> str:  # noqa: A002
        """Run the lab's own kubectl; `cobalt kubectl` does the same, a little slower."""
        environment = {**self.environment, "KUBECONFIG": str(self.place.kubeconfig)}
        return run([str(self.place.programs / "kubectl"), *arguments], environment, text=input)

    def attempt(self, *arguments: str, input: str = "") -> str:  # noqa: A002
        """Run kubectl; nothing if it fails, as it does while something comes back."""
        try:
            return self.kubectl(*arguments, input=input)
        except CommandFailed:
            return ""

    def get(self, *arguments: str) -> dict[str, Any]:
        """Read objects; nothing if there are none, or no answer."""
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

    def node(self, name: str) -> machine.Machine:
        return next(each for each in self.place.machines() if each.name == name)

    def processes(self, node: str = "") -> dict[int, str]:
        """Process ids, as the host numbers them, with their command lines."""
        found = cgroups.processes(cgroups.find(), machine.group_of(self.name, node))
        return {pid: line for pid in found if (line := command_line(pid))}

    def daemon(self, node: str, program: str) -> int:
        """The process of a daemon in a node, once there is one."""
        pattern = re.compile(rf"^(\S*/)?{program}( |$)")
        return eventually(
            lambda: next(
                (pid for pid, line in self.processes(node).items() if pattern.search(line)), 0
            ),
            f"{program} runs in {node}",
        )

    def supervisor(self) -> int:
        found = kernel.recall(self.place.directory / "supervisor.pid")
        assert found is not None
        return found

    def kill_everything(self) -> None:
        """As if the power had failed, but for the kernel."""
        machines = self.place.machines()
        os.kill(self.supervisor(), signal.SIGKILL)
        for pid in self.processes():
            kill(pid)
        eventually(lambda: not any(each.pid() for each in machines), "all nodes gone")

    def remove(self) -> None:
        """Leave nothing, whatever state a test left it in."""
        self.down("--purge")
        assert self.name not in cgroups.instances(cgroups.find())
        assert self.name not in {owner.name for owner in links.owners()}


@contextmanager
def given_or_own(root: Path, up: Callable[[Lab], object]) -> Iterator[Lab]:
    """The lab that the environment names, or one that is started here and removed at the end."""
    if name := os.environ.get(GIVEN):
        yield Lab(home.root(os.environ), name)
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
