"""PID 1 of a node: mounts, network, daemons; stops all of them on SIGTERM.

Starts each daemon when the conditions in `after` hold, restarts it with back-off when it ends, and
reaps all orphans of the node. If it is killed the kernel kills the whole PID namespace, and the
supervisor on the host starts the node again.
Standard library only: `python -m cobaltlab.init NODE.json`; starts when stdin reaches end of file.
"""

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cobaltlab import initconfig, mounts, network, restart

TICK_SECONDS = 0.05
IDLE_SECONDS = 1.0
FIRST_RESTART_SECONDS = 0.2
LONGEST_RESTART_SECONDS = 10.0
LOG_BYTES = 32 * 2**20
STOP_SECONDS = 10.0

_SIGNALS = {signal.SIGCHLD, signal.SIGTERM}
_SHIM = "containerd-shim"
_TERM_BIT = 1 << (signal.SIGTERM - 1)


class Program:
    """A daemon with its process and its restart back-off."""

    def __init__(self, daemon: initconfig.Daemon, log: Path) -> None:
        self.daemon = daemon
        self.log = log
        self.pid = 0
        self.done = False
        self._backoff = restart.RestartBackoff(
            first=FIRST_RESTART_SECONDS, longest=LONGEST_RESTART_SECONDS
        )
        self._conditions_met = False

    def is_due(self, is_met: Callable[[str], bool]) -> bool:
        """Whether to start it now; conditions apply to the first start only."""
        if self.pid or self.done or not self._backoff.is_due:
            return False
        if not self._conditions_met:
            self._conditions_met = all(is_met(each) for each in self.daemon.after)
        return self._conditions_met

    def start(self) -> None:
        _rotate(self.log)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._backoff.started()
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
        """Record the end of the process; exit code 0 completes a program that runs once."""
        self.pid = 0
        self.done = self.daemon.once and how == "0"
        if self.done:
            return
        delay = self._backoff.ended()
        _log(f"{self.daemon.name} ended ({how}), restarting in {delay:.1f} s")


class Init:
    """Runs the programs of a node until a SIGTERM."""

    def __init__(self, config: initconfig.InitConfig) -> None:
        self._programs = [
            Program(each, config.logs / f"{each.name}.log") for each in config.daemons
        ]
        self._next_rotation = 0.0

    def run(self) -> None:
        while True:
            for program in self._programs:
                if program.is_due(self._is_met):
                    program.start()
            self._rotate_logs()
            pending = any(not each.pid and not each.done for each in self._programs)
            found = signal.sigtimedwait(_SIGNALS, TICK_SECONDS if pending else IDLE_SECONDS)
            if found and found.si_signo == signal.SIGTERM:
                return
            self._reap()

    def stop(self) -> None:
        """Stop containers and daemons gracefully: processes that handle SIGTERM get STOP_SECONDS.

        Daemons without data are killed first: a kubelet would restart containers that end, and an
        API server would wait for its clients.
        """
        for program in self._programs:
            if program.pid and not program.daemon.keeps_data:
                os.kill(program.pid, signal.SIGKILL)
                os.waitpid(program.pid, 0)
        os.kill(-1, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(map(_handles_sigterm, _processes())) and time.monotonic() < deadline:
            signal.sigtimedwait({signal.SIGCHLD}, TICK_SECONDS)
            self._reap()

    def _is_met(self, condition: str) -> bool:
        kind, _, where = condition.partition(":")
        if kind == "done":
            return any(each.done for each in self._programs if each.daemon.name == where)
        if kind == "unix":
            return _is_listening(socket.AF_UNIX, where)
        host, _, port = where.rpartition(":")
        return _is_listening(socket.AF_INET, (host, int(port)))

    def _reap(self) -> None:
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

    def _rotate_logs(self) -> None:
        if time.monotonic() >= self._next_rotation:
            self._next_rotation = time.monotonic() + 60
            for program in self._programs:
                _rotate(program.log)


def _is_listening(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
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


def _handles_sigterm(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM; without one it has ended or ignores the signal.

    containerd-shim has a handler but outlives its container, so it does not count.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    if fields["State"].strip().startswith("Z") or fields["Name"].strip() == _SHIM:
        return False
    return bool(int(fields.get("SigCgt", "0"), 16) & _TERM_BIT)


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def _log(text: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{moment} {text}\n")


def main(path: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    config = initconfig.decode(Path(path).read_text())
    config.logs.mkdir(parents=True, exist_ok=True)
    # The host creates the veth pairs into this network namespace; then it closes stdin.
    sys.stdin.read()
    socket.sethostname(config.name)
    network.ip_batch(config.network)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    mounts.set_up(Path(config.directory), bind_mounts=config.bind_mounts, files=config.files)
    init = Init(config)
    init.run()
    _log("stopping")
    init.stop()


if __name__ == "__main__":
    main(sys.argv[1])
