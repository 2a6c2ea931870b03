"""A node on the host: one process in its own namespaces, with veth pairs and cgroups.

Standard library only.
"""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from cobaltcore.agents import waiting
from cobaltlab import cgroups, initconfig, kernel, network, pidfile

CLEAN_UP_SECONDS = 20.0
INIT = "cobaltlab.init"
DAEMONS_WEIGHT = 8
CONTROL_PLANE_WEIGHT = 3

_NAMESPACES = kernel.NEW_MOUNT | kernel.NEW_UTS | kernel.NEW_IPC | kernel.NEW_PID | kernel.NEW_NET


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """One node of one lab."""

    instance: str
    index: int
    path: Path
    """The node.json of the node."""
    number: int

    @property
    def name(self) -> str:
        return self.path.parent.name

    @property
    def cgroup(self) -> str:
        """The cgroup of the node, also the kubelet's cgroupRoot."""
        return cgroup_of(self.instance, self.name)

    @property
    def logs(self) -> Path:
        """Logs of init and of the daemons."""
        return self.path.parent / "log"

    @property
    def _pid_file(self) -> Path:
        return self.path.with_name("pid")

    def pid(self) -> int | None:
        """PID of the node's init in the host's PID namespace, if it is running."""
        return pidfile.running(self._pid_file)

    def start(self) -> int:
        """Clean up a previous run, start the node and return the PID of its init."""
        hierarchies = cgroups.detect()
        self.clean_up(hierarchies)
        cgroups.create(hierarchies, f"{self.cgroup}/{cgroups.SYSTEM}")
        # When all pods start at once they must not starve kubelet and containerd of CPU.
        cgroups.set_weight(hierarchies, f"{self.cgroup}/{cgroups.SYSTEM}", DAEMONS_WEIGHT)
        if not self.number:
            cgroups.set_weight(hierarchies, self.cgroup, CONTROL_PLANE_WEIGHT)
        self.logs.mkdir(exist_ok=True)
        ready, go = os.pipe()
        try:
            pid = self._launch(hierarchies, ready, go)
            pidfile.write(self._pid_file, pid)
            network.attach(self.index, self.number, pid=pid)
        finally:
            os.close(ready)
            os.close(go)
        return pid

    def clean_up(self, hierarchies: cgroups.Hierarchies) -> None:
        """Remove what a previous run left: processes, cgroups, veth pairs.

        A kubelet mistakes old cgroups of containers for running containers and waits for them.
        """
        cgroups.kill(hierarchies, self.cgroup)
        if not waiting.wait_until(
            lambda: cgroups.remove(hierarchies, self.cgroup),
            interval=0.02,
            timeout=CLEAN_UP_SECONDS,
        ):
            raise TimeoutError(
                f'processes of node "{self.name}" did not end within {CLEAN_UP_SECONDS:.0f} s'
            )
        network.detach(self.index, self.number)

    def _launch(self, hierarchies: cgroups.Hierarchies, ready: int, go: int) -> int:
        """Fork twice: the first child enters the namespaces, the second is PID 1 in them."""
        reader, writer = os.pipe()
        middle = os.fork()
        if not middle:
            try:
                cgroups.join(hierarchies, f"{self.cgroup}/{cgroups.SYSTEM}")
                kernel.unshare(_NAMESPACES)
                first = os.fork()
                if first:
                    os.write(writer, str(first).encode())
                    os._exit(0)
                os.close(go)
                self._become_init(ready)
            finally:
                os._exit(1)
        os.close(writer)
        answer = os.read(reader, 32)
        os.close(reader)
        os.waitpid(middle, 0)
        if not answer:
            raise OSError(f'node "{self.name}" did not start; see {self._log}')
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
        os.execve(sys.executable, command, kernel.service_environment())  # noqa: S606 no shell is wanted

    @property
    def _log(self) -> Path:
        return self.logs / "init.log"


def cgroup_of(instance: str, node: str = "") -> str:
    """The cgroup of a lab, or of one of its nodes."""
    return "/".join(part for part in (cgroups.TOP, instance, node) if part)


def find_all(directory: Path, *, instance: str, index: int) -> list[NodeProcess]:
    """The nodes with a node.json under the state directory of a lab."""
    files = sorted(directory.glob("nodes/*/node.json"))
    found = [
        NodeProcess(instance, index, path, initconfig.number(path.read_text())) for path in files
    ]
    return sorted(found, key=lambda each: each.number)
