"""Keeps the nodes of one lab running: `python -m cobaltlab.supervisor DIRECTORY`.

Every TICK_SECONDS it starts the declared nodes and host processes that are not running, with
back-off. It keeps no state in memory and adopts running processes by their PID files, so it may be
killed and restarted without effect on the nodes.
Standard library only.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cobaltlab import cgroups, hostprocess, kernel, nodeprocess, pidfile, record, restart

TICK_SECONDS = 0.5
FIRST_RESTART_SECONDS = 0.1
LONGEST_RESTART_SECONDS = 15.0
GROUP = "supervisor"
PID_FILE = "supervisor.pid"
CODE_FILE = "supervisor.code"
# Of a command line: interpreter, -m, module, directory or file.
_MODULE_WORDS = 4
HELPERS = {"storage": "cobaltlab.storage", "registry": "cobaltlab.registry"}


class Supervisor:
    """Starts the declared nodes and host processes of one lab."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._instance = record.read(directory)
        self._backoffs: dict[str, restart.RestartBackoff] = {}

    def run(self) -> None:
        while True:
            instance = self._instance
            for node in nodeprocess.find_all(
                self._directory, instance=instance.name, index=instance.index
            ):
                self._ensure_node(node)
            for name, module in HELPERS.items():
                self._ensure(name, self._directory / f"{name}.pid", module)
            for name in hostprocess.names(self._directory):
                file = hostprocess.pid_file(self._directory, name)
                self._ensure(name, file, hostprocess.MODULE, name)
            signal.sigtimedwait({signal.SIGCHLD}, TICK_SECONDS)
            _reap()

    def _ensure_node(self, node: nodeprocess.NodeProcess) -> None:
        backoff = self._backoff(node.name)
        if node.pid() is not None:
            backoff.started()
            return
        backoff.ended()
        if backoff.is_due:
            backoff.started()
            try:
                _log(f"node {node.name} is running as PID {node.start()}")
            except (OSError, RuntimeError) as error:
                _log(f"node {node.name} cannot be started: {error}")

    def _ensure(self, name: str, pid_file: Path, module: str, *arguments: str) -> None:
        backoff = self._backoff(name)
        if pidfile.running(pid_file) is not None:
            backoff.started()
            return
        backoff.ended()
        if backoff.is_due:
            backoff.started()
            log = self._directory / "log" / f"{name}.log"
            pid = spawn(module, self._directory, *arguments, log=log)
            pidfile.write(pid_file, pid)
            _log(f"{name} is running as PID {pid}")

    def _backoff(self, name: str) -> restart.RestartBackoff:
        return self._backoffs.setdefault(
            name,
            restart.RestartBackoff(first=FIRST_RESTART_SECONDS, longest=LONGEST_RESTART_SECONDS),
        )


def code() -> str:
    """Digest of the supervisor's source, to detect an outdated process."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def directory_of(pid: int, proc: Path = Path("/proc")) -> Path | None:
    """The state directory of a lab, if the process is one of its nodes or supervised programs."""
    try:
        words = (proc / str(pid) / "cmdline").read_text().split("\0")
    except OSError:
        return None
    programs = {"cobaltlab.supervisor", hostprocess.MODULE, *HELPERS.values()}
    if len(words) < _MODULE_WORDS or words[1] != "-m":
        return None
    module, where = words[2], Path(words[3])
    if module == nodeprocess.INIT:
        return where.parents[2]
    return where if module in programs else None


def spawn(module: str, directory: Path, *arguments: str, log: Path) -> int:
    """Start a module as a daemon on the host, detached from terminal and user environment."""
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 arguments are ours
            [sys.executable, "-m", module, str(directory), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=kernel.service_environment(),
            cwd="/",
            start_new_session=True,
        )
    # The supervisor reaps it as subreaper; without this Popen warns about a running child.
    process.returncode = 0
    return process.pid


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _log(text: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{moment} {text}\n")


def main(directory: Path) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    supervisor = Supervisor(directory)
    hierarchies = cgroups.detect()
    group = f"{nodeprocess.cgroup_of(record.read(directory).name)}/{GROUP}"
    cgroups.create(hierarchies, group)
    cgroups.join(hierarchies, group)
    kernel.become_subreaper()
    (directory / CODE_FILE).write_text(code())
    pidfile.write(directory / PID_FILE, os.getpid())
    supervisor.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
