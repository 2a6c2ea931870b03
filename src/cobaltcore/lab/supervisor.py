"""Keeps the nodes of one instance running: `python -m cobaltcore.lab.supervisor DIRECTORY`.

It looks again and again which nodes are described, and starts those that do not run: later each
time if they keep ending. It holds nothing in memory that matters and adopts what runs already, so
it may be killed and started again without harm to the nodes.
Standard library only.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cobaltcore.lab import cgroups, hosted, kernel, machine, record

TICK_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 15.0
STEADY_SECONDS = 30.0
GROUP = "supervisor"
PID_FILE = "supervisor.pid"
CODE_FILE = "supervisor.code"
# Of a command line: the interpreter, -m, the module, what it works on.
_MODULE_WORDS = 4
HELPERS = {"storage": "cobaltcore.lab.storage", "registry": "cobaltcore.lab.registry"}


class Patience:
    """When to start something again that keeps ending."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause = FIRST_PAUSE_SECONDS
        self._started = 0.0
        self._not_before = 0.0
        self.is_running = False

    def ended(self) -> None:
        """Note that it does not run; the first start is due at once."""
        now = self._clock()
        if not self.is_running:
            return
        self.is_running = False
        if now - self._started > STEADY_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        self._not_before = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    def started(self) -> None:
        """Note that it runs, or that a start was tried."""
        if not self.is_running:
            self._started = self._clock()
            self.is_running = True

    @property
    def is_due(self) -> bool:
        """Whether it may be started now."""
        return self._clock() >= self._not_before


class Supervisor:
    """Starts what is described under a directory and does not run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._instance = record.read(directory)
        self._patience: dict[str, Patience] = {}

    def run(self) -> None:
        """Look after everything until the end of the process."""
        while True:
            instance = self._instance
            for node in machine.all_of(
                self._directory, instance=instance.name, index=instance.index
            ):
                self._tend_node(node)
            for name, module in HELPERS.items():
                self._tend(name, self._directory / f"{name}.pid", module)
            for name in hosted.names(self._directory):
                file = hosted.pid_file(self._directory, name)
                self._tend(name, file, hosted.MODULE, name)
            signal.sigtimedwait({signal.SIGCHLD}, TICK_SECONDS)
            _collect()

    def _tend_node(self, node: machine.Machine) -> None:
        patience = self._patience.setdefault(node.name, Patience())
        if node.pid() is not None:
            patience.started()
            return
        patience.ended()
        if patience.is_due:
            patience.started()
            try:
                _say(f"node {node.name} runs as process {node.start()}")
            except (OSError, RuntimeError) as error:
                _say(f"node {node.name} cannot be started: {error}")

    def _tend(self, name: str, pid_file: Path, module: str, *arguments: str) -> None:
        patience = self._patience.setdefault(name, Patience())
        if kernel.recall(pid_file) is not None:
            patience.started()
            return
        patience.ended()
        if patience.is_due:
            patience.started()
            log = self._directory / "log" / f"{name}.log"
            pid = spawn(module, self._directory, *arguments, log=log)
            kernel.remember(pid_file, pid)
            _say(f"{name} runs as process {pid}")


def code() -> str:
    """Something that differs between releases of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def directory_of(pid: int, proc: Path = Path("/proc")) -> Path | None:
    """The directory of the instance, if a process is one of the programs that look after it."""
    try:
        words = (proc / str(pid) / "cmdline").read_text().split("\0")
    except OSError:
        return None
    programs = {"cobaltcore.lab.supervisor", hosted.MODULE, *HELPERS.values()}
    if len(words) < _MODULE_WORDS or words[1] != "-m":
        return None
    module, where = words[2], Path(words[3])
    if module == machine.INIT:
        return where.parents[2]
    return where if module in programs else None


def spawn(module: str, directory: Path, *arguments: str, log: Path) -> int:
    """Start one of our programs on the host, apart from the terminal and the user's settings."""
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 arguments are ours
            [sys.executable, "-m", module, str(directory), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=kernel.environment(),
            cwd="/",
            start_new_session=True,
        )
    # Whoever is the parent by then collects it; this process may be gone.
    process.returncode = 0
    return process.pid


def _collect() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _say(text: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{moment} {text}\n")


def main(directory: Path) -> None:
    """Look after the instance in a directory."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    supervisor = Supervisor(directory)
    hierarchies = cgroups.find()
    group = f"{machine.group_of(record.read(directory).name)}/{GROUP}"
    cgroups.create(hierarchies, group)
    cgroups.join(hierarchies, group)
    kernel.adopt_orphans()
    (directory / CODE_FILE).write_text(code())
    kernel.remember(directory / PID_FILE, os.getpid())
    supervisor.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
