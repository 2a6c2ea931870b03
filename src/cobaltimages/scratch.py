"""A temporary directory of a build, in memory, with its own mount and PID namespace.

A keeper process holds the namespaces. When it exits, or this program exits for whatever reason, the kernel ends every process of the build and drops its mounts. Working in memory
also matters for speed: an image is tens of thousands of small files, written two or three times.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cobaltimages import errors

GIBIBYTE = 1 << 30
# All images at once need about 3 GiB; leave as much again to everything else.
MEMORY_NEEDED_BYTES = 6 * GIBIBYTE

# The first process of a namespace inherits orphans; ignoring the signal lets the kernel collect them.
_PREPARE = (
    'mkdir -p "$1" && { [ -z "$2" ] || mount -t tmpfs -o "$2" cobaltcore "$1"; } '
    "&& echo && exec env --ignore-signal=CHLD cat"
)


@dataclass(frozen=True, slots=True)
class Scratch:
    """The directory, the PID of its keeper, and the environment of commands in it."""

    place: Path
    keeper: int
    environment: Mapping[str, str] = field(default_factory=dict)

    def outside(self, path: Path) -> Path:
        """A path of the mount namespace as a path of this process."""
        return Path(f"/proc/{self.keeper}/root", *path.parts[1:])

    def command(self, arguments: Sequence[str | Path]) -> list[str]:
        """The command line that runs a command in the namespaces."""
        spaces = f"/proc/{self.keeper}/ns"
        enter = ["nsenter", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children", "--"]
        return [*enter, *(str(argument) for argument in arguments)]

    def run(self, arguments: Sequence[str | Path], log: IO[bytes]) -> int:
        """Run a command in the namespaces, its output to a log; return its exit code."""
        done = subprocess.run(  # noqa: S603 arguments are ours
            self.command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **self.environment},
            check=False,
        )
        return done.returncode

    def stop(self) -> None:
        """End every process in the place, with the one that keeps it."""
        with suppress(ProcessLookupError):
            os.kill(self.keeper, signal.SIGKILL)


@contextmanager
def opened(place: Path, environment: Mapping[str, str]) -> Iterator[Scratch]:
    """Create the directory, and remove it at the end."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = "mode=0700,size=80%" if _has_memory() else ""
    keeper = subprocess.Popen(  # noqa: S603 arguments are ours
        [
            *("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"),
            *("--mount-proc", "sh", "-c", _PREPARE, "sh", str(place), options),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        if keeper.stdout is None or not keeper.stdout.readline():
            raise _refused(keeper)
        yield Scratch(place, keeper.pid, environment)
    finally:
        keeper.kill()
        keeper.communicate()
        shutil.rmtree(place, ignore_errors=True)


def _refused(keeper: subprocess.Popen[bytes]) -> errors.HostError:
    _, stderr = keeper.communicate()
    return errors.HostError(
        f"images cannot be built on this machine: {stderr.decode(errors='replace').strip()}",
        hint="run as root, on a machine or in a container that may mount file systems",
    )


def _has_memory() -> bool:
    with Path("/proc/meminfo").open() as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024 >= MEMORY_NEEDED_BYTES
