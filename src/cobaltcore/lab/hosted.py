"""Programs of ours that run on the host beside the nodes: described, supervised, stopped.

A description is a file; the supervisor starts what is described and does not run. A program sees
the host as it is, but resolves names as pods do.
`python -m cobaltcore.lab.hosted DIRECTORY NAME` becomes the program. Standard library only.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cobaltcore.lab import kernel

MODULE = "cobaltcore.lab.hosted"
STOP_SECONDS = 30.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A Python module of ours with its arguments."""

    module: str
    arguments: Sequence[str]
    resolver: str
    """Content of its resolv.conf."""
    code: str = ""
    """Differs between states of the source that make a restart worthwhile."""


def names(directory: Path) -> list[str]:
    """What is described under the directory of an instance."""
    return sorted(path.stem for path in _folder(directory).glob("*.json"))


def pid(directory: Path, name: str) -> int | None:
    """The process of a program, if it runs."""
    return kernel.recall(pid_file(directory, name))


def pid_file(directory: Path, name: str) -> Path:
    """Where the supervisor remembers the process of a program."""
    return _folder(directory) / f"{name}.pid"


def describe(directory: Path, name: str, program: Program) -> bool:
    """Have a program run; one that runs in an older form is restarted. True if it changed."""
    path = _folder(directory) / f"{name}.json"
    wanted = json.dumps(asdict(program), indent=1)
    if path.exists() and path.read_text() == wanted:
        return False
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(wanted)
    fresh.replace(path)
    stop(directory, name)
    return True


def forget(directory: Path, name: str) -> None:
    """Have a program run no longer."""
    (_folder(directory) / f"{name}.json").unlink(missing_ok=True)
    stop(directory, name)
    pid_file(directory, name).unlink(missing_ok=True)


def stop(directory: Path, name: str) -> None:
    """End the process of a program, in good order first; the supervisor may start it again."""
    found = pid(directory, name)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if found is None or pid(directory, name) != found:
            return
        os.kill(found, number)
        deadline = time.monotonic() + STOP_SECONDS
        while pid(directory, name) == found and time.monotonic() < deadline:
            signal.sigtimedwait((), POLL_SECONDS)


def _folder(directory: Path) -> Path:
    return directory / "hosted"


def main(directory: Path, name: str) -> None:
    """Become a program, in a view of the file system with its own resolver."""
    program = Program(**json.loads((_folder(directory) / f"{name}.json").read_text()))
    resolver = _folder(directory) / f"{name}.resolv.conf"
    resolver.write_text(program.resolver)
    kernel.unshare(kernel.NEW_MOUNT)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    # Often a link to a file elsewhere, and that is what is covered.
    kernel.mount(str(resolver), str(Path("/etc/resolv.conf").resolve()), flags=kernel.BIND)
    command = [sys.executable, "-m", program.module, *program.arguments]
    os.execve(sys.executable, command, kernel.environment())  # noqa: S606 no shell is wanted


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
