"""Processes on the host next to the nodes: operators and providers of `cobalt up --dev`.

Each is declared in a JSON file; the supervisor starts those that are not running. A host process has
the mounts of the host, but the resolv.conf of a pod.
`python -m cobaltlab.hostprocess DIRECTORY NAME` execs the program. Standard library only.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cobaltcore.agents import waiting
from cobaltlab import kernel, pidfile

MODULE = "cobaltlab.hostprocess"
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProcess:
    """A Python module and its arguments."""

    module: str
    arguments: Sequence[str]
    resolver: str
    """Content of its /etc/resolv.conf."""
    source_digest: str = ""
    """Another digest restarts the process."""


def names(directory: Path) -> list[str]:
    """Names of the declared processes under the directory of a lab."""
    return sorted(path.stem for path in _folder(directory).glob("*.json"))


def pid(directory: Path, name: str) -> int | None:
    return pidfile.running(pid_file(directory, name))


def pid_file(directory: Path, name: str) -> Path:
    return _folder(directory) / f"{name}.pid"


def declare(directory: Path, name: str, process: HostProcess) -> bool:
    """Declare a process; a running one with another declaration is restarted. True if it changed."""
    path = _folder(directory) / f"{name}.json"
    wanted = json.dumps(asdict(process), indent=1)
    if path.exists() and path.read_text() == wanted:
        return False
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(wanted)
    fresh.replace(path)
    stop(directory, name)
    return True


def remove(directory: Path, name: str) -> None:
    (_folder(directory) / f"{name}.json").unlink(missing_ok=True)
    stop(directory, name)
    pid_file(directory, name).unlink(missing_ok=True)


def stop(directory: Path, name: str) -> None:
    """Send SIGTERM, then SIGKILL after STOP_SECONDS; the supervisor may start it again."""
    found = pid(directory, name)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if found is None or pid(directory, name) != found:
            return
        os.kill(found, number)
        waiting.wait_until(
            lambda: pid(directory, name) != found, interval=0.05, timeout=STOP_SECONDS
        )


def _folder(directory: Path) -> Path:
    return directory / "hosted"


def main(directory: Path, name: str) -> None:
    program = HostProcess(**json.loads((_folder(directory) / f"{name}.json").read_text()))
    resolver = _folder(directory) / f"{name}.resolv.conf"
    resolver.write_text(program.resolver)
    kernel.unshare(kernel.NEW_MOUNT)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    # /etc/resolv.conf is often a symbolic link; the bind mount has to cover its target.
    kernel.mount(str(resolver), str(Path("/etc/resolv.conf").resolve()), flags=kernel.BIND)
    command = [sys.executable, "-m", program.module, *program.arguments]
    os.execve(sys.executable, command, kernel.service_environment())  # noqa: S606 no shell is wanted


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
