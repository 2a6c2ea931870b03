"""A node as the host sees it: one process in namespaces of its own, a cable, control groups.

Standard library only.
"""

import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.lab import cgroups, kernel, links, nodespec

GONE_SECONDS = 20.0
INIT = "cobaltcore.lab.init"
DAEMONS_SHARE = 8
CONTROL_PLANE_SHARE = 3

_NAMESPACES = kernel.NEW_MOUNT | kernel.NEW_UTS | kernel.NEW_IPC | kernel.NEW_PID | kernel.NEW_NET


@dataclass(frozen=True, slots=True)
class Machine:
    """One node of one instance."""

    instance: str
    index: int
    path: Path
    """The file that describes the node."""
    number: int

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.path.parent.name

    @property
    def group(self) -> str:
        """The control group of the node, also the kubelet's root."""
        return group_of(self.instance, self.name)

    @property
    def logs(self) -> Path:
        """Where its first process and its daemons have their logs."""
        return self.path.parent / "log"

    @property
    def _pid_file(self) -> Path:
        return self.path.with_name("pid")

    def pid(self) -> int | None:
        """The node's first process as the host numbers it, if it runs."""
        return kernel.recall(self._pid_file)

    def start(self) -> int:
        """Start the node on a clean ground and return its first process."""
        hierarchies = cgroups.find()
        self.clear(hierarchies)
        cgroups.create(hierarchies, f"{self.group}/{cgroups.SYSTEM}")
        # When all pods start at once, everything waits for the daemons that start them.
        cgroups.favour(hierarchies, f"{self.group}/{cgroups.SYSTEM}", DAEMONS_SHARE)
        if not self.number:
            cgroups.favour(hierarchies, self.group, CONTROL_PLANE_SHARE)
        self.logs.mkdir(exist_ok=True)
        ready, go = os.pipe()
        try:
            pid = self._launch(hierarchies, ready, go)
            kernel.remember(self._pid_file, pid)
            links.plug_in(self.index, self.number, pid=pid)
        finally:
            os.close(ready)
            os.close(go)
        return pid

    def clear(self, hierarchies: cgroups.Hierarchies) -> None:
        """Remove what a node that ended has left: stragglers, groups, the cable.

        A kubelet takes containers' groups of an earlier life for running ones, and waits.
        """
        cgroups.kill(hierarchies, self.group)
        deadline = time.monotonic() + GONE_SECONDS
        while not cgroups.remove(hierarchies, self.group):
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes of {self.name} do not end")
            select.select([], [], [], 0.02)
        links.unplug(self.index, self.number)

    def _launch(self, hierarchies: cgroups.Hierarchies, ready: int, go: int) -> int:
        """Fork twice: the first child enters the namespaces, the second is process 1 in them."""
        told, tell = os.pipe()
        middle = os.fork()
        if not middle:
            try:
                cgroups.join(hierarchies, f"{self.group}/{cgroups.SYSTEM}")
                kernel.unshare(_NAMESPACES)
                first = os.fork()
                if first:
                    os.write(tell, str(first).encode())
                    os._exit(0)
                os.close(go)
                self._become_init(ready)
            finally:
                os._exit(1)
        os.close(tell)
        answer = os.read(told, 32)
        os.close(told)
        os.waitpid(middle, 0)
        if not answer:
            raise OSError(f"{self.name} did not start; see {self._log}")
        return int(answer)

    def _become_init(self, ready: int) -> None:
        os.setsid()
        os.dup2(ready, 0)
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir("/")
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        command = [sys.executable, "-m", INIT, str(self.path)]
        os.execve(sys.executable, command, kernel.environment())  # noqa: S606 no shell is wanted

    @property
    def _log(self) -> Path:
        return self.logs / "init.log"


def group_of(instance: str, node: str = "") -> str:
    """The control group of an instance, or of one of its nodes."""
    return "/".join(part for part in (cgroups.TOP, instance, node) if part)


def all_of(directory: Path, *, instance: str, index: int) -> list[Machine]:
    """The nodes that are described under the directory of an instance."""
    files = sorted(directory.glob("nodes/*/node.json"))
    found = [
        Machine(instance, index, path, nodespec.decode(path.read_text()).number) for path in files
    ]
    return sorted(found, key=lambda each: each.number)
