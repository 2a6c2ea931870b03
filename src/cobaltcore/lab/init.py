"""The first process of a node: private mounts, network, daemons; ends when told, or with all.

It starts each daemon when its gates are open, starts it again when it ends (later each time while
it keeps ending), and collects every orphan of the node. If it is killed the kernel ends the whole
node, and the supervisor on the host starts it anew.
Standard library only: `python -m cobaltcore.lab.init NODE.json` with the signal to go on stdin.
"""

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cobaltcore.lab import links, mounts, nodespec

TICK_SECONDS = 0.05
IDLE_SECONDS = 1.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 10.0
STEADY_SECONDS = 30.0
LOG_BYTES = 32 * 2**20
STOP_SECONDS = 10.0

_SIGNALS = {signal.SIGCHLD, signal.SIGTERM}
_SHIM = "containerd-shim"
_TERM_BIT = 1 << (signal.SIGTERM - 1)


class Program:
    """A daemon with its process, and when to start it next."""

    def __init__(self, daemon: nodespec.Daemon, log: Path) -> None:
        self.daemon = daemon
        self.log = log
        self.pid = 0
        self.done = False
        self._pause = FIRST_PAUSE_SECONDS
        self._started = 0.0
        self._not_before = 0.0
        self._waited = False

    def is_due(self, is_open: Callable[[str], bool]) -> bool:
        """Whether to start it now; gates count for the first start only."""
        if self.pid or self.done or time.monotonic() < self._not_before:
            return False
        if not self._waited:
            self._waited = all(is_open(gate) for gate in self.daemon.after)
        return self._waited

    def start(self) -> None:
        """Start the process with its output in the log."""
        _keep_short(self.log)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._started = time.monotonic()
        try:
            self.pid = os.posix_spawnp(
                self.daemon.command[0],
                self.daemon.command,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(self.log), flags, 0o644),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
                setsigmask=(),
            )
        except OSError as error:
            self.ended(f"cannot be started: {error.strerror}")

    def ended(self, how: str) -> None:
        """Note that the process has ended; a program that runs once is content with exit 0."""
        self.pid = 0
        self.done = self.daemon.once and how == "0"
        if self.done:
            return
        if time.monotonic() - self._started > STEADY_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        _say(f"{self.daemon.name} ended ({how}), starts again in {self._pause:.1f} s")
        self._not_before = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)


class Init:
    """Runs the programs of a node until a SIGTERM."""

    def __init__(self, node: nodespec.Node) -> None:
        self._programs = [Program(each, node.logs / f"{each.name}.log") for each in node.daemons]
        self._next_trim = 0.0

    def run(self) -> None:
        """Keep everything running."""
        while True:
            for program in self._programs:
                if program.is_due(self._is_open):
                    program.start()
            self._trim_logs()
            waiting = any(not each.pid and not each.done for each in self._programs)
            found = signal.sigtimedwait(_SIGNALS, TICK_SECONDS if waiting else IDLE_SECONDS)
            if found and found.si_signo == signal.SIGTERM:
                return
            self._collect()

    def stop(self) -> None:
        """End containers and daemons in good order: those that listen to it get a while.

        Daemons without data go first: a kubelet would start again what ends, and an API server
        would wait for its clients.
        """
        for program in self._programs:
            if program.pid and not program.daemon.keeps_data:
                os.kill(program.pid, signal.SIGKILL)
                os.waitpid(program.pid, 0)
        os.kill(-1, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(map(_listens, _processes())) and time.monotonic() < deadline:
            signal.sigtimedwait({signal.SIGCHLD}, TICK_SECONDS)
            self._collect()

    def _is_open(self, gate: str) -> bool:
        kind, _, where = gate.partition(":")
        if kind == "done":
            return any(each.done for each in self._programs if each.daemon.name == where)
        if kind == "unix":
            return _answers(socket.AF_UNIX, where)
        host, _, port = where.rpartition(":")
        return _answers(socket.AF_INET, (host, int(port)))

    def _collect(self) -> None:
        by_pid = {program.pid: program for program in self._programs if program.pid}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in by_pid:
                by_pid[pid].ended(str(os.waitstatus_to_exitcode(status)))

    def _trim_logs(self) -> None:
        if time.monotonic() >= self._next_trim:
            self._next_trim = time.monotonic() + 60
            for program in self._programs:
                _keep_short(program.log)


def _answers(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(0.5)
        try:
            attempt.connect(address)
        except OSError:
            return False
    return True


def _processes() -> list[int]:
    names = [each.name for each in Path("/proc").iterdir() if each.name.isdecimal()]
    return [int(name) for name in names if name != "1"]


def _listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM; one without has ended or never will.

    Shims have one, and outlive their containers' requests to end all the same.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if fields["State"].strip().startswith("Z") or fields["Name"].strip() == _SHIM:
        return False
    return bool(int(fields.get("SigCgt", "0"), 16) & _TERM_BIT)


def _keep_short(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def _say(text: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{moment} {text}\n")


def main(path: str) -> None:
    """Become the node that the file describes."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    node = nodespec.decode(Path(path).read_text())
    node.logs.mkdir(parents=True, exist_ok=True)
    # The cable into the network namespace is laid from outside; end of file says that it is there.
    sys.stdin.read()
    socket.sethostname(node.name)
    links.run(node.network)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    mounts.set_up(Path(node.directory), carried=node.carried, files=node.files)
    init = Init(node)
    init.run()
    _say("stopping")
    init.stop()


if __name__ == "__main__":
    main(sys.argv[1])
