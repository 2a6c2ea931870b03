"""Runs `go build` with progress: fetched modules, then compiled packages out of the stale ones."""

import os
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltlab import errors, gotoolchain

TAIL_LINES = 20
TICK_SECONDS = 1.0
# Measured on a first build: size of a compiled package in GOCACHE, and space for linking.
BYTES_PER_PACKAGE = 1_200_000
BYTES_TO_LINK = 500_000_000

_PACKAGE = "package "
_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


@dataclass(frozen=True)
class GoBuild:
    """One main package of one Go module, and the log of its build."""

    go: gotoolchain.Go
    module: Path
    package: str
    log: Path
    report: Callable[[str], None]

    def query(self, *arguments: str) -> str:
        """Run a go command and return its output."""
        return "\n".join(line for line in self._run(arguments, self._note_download))

    def build(self, output: Path, *, linker_flags: str) -> None:
        """Compile and link the package, reproducibly."""
        flags = ["-trimpath", "-buildvcs=false", "-ldflags", linker_flags]
        stale = self._stale_packages(flags)
        self._check_disk(output.parent, packages=len(stale))
        done: set[str] = set()

        def note(line: str) -> None:
            done.update({line} & stale)
            if len(done) < len(stale):
                self.report(f"compiling packages: {len(done)}/{len(stale)}")
            else:
                self.report("linking")

        self._run(["build", "-v", *flags, "-o", str(output), self.package], note)

    def _stale_packages(self, flags: Sequence[str]) -> set[str]:
        self.report("listing stale packages")
        template = f"{_PACKAGE}{{{{.ImportPath}}}}"
        listed = self._run(
            [
                "list",
                "-deps",
                *flags,
                "-f",
                f"{{{{if .Stale}}}}{template}{{{{end}}}}",
                self.package,
            ],
            self._note_download,
        )
        return {line.removeprefix(_PACKAGE) for line in listed if line.startswith(_PACKAGE)}

    def _note_download(self, line: str) -> None:
        if line.startswith("go: downloading "):
            self.report(f"fetching modules: {line.split()[2]}")

    def _check_disk(self, output: Path, *, packages: int) -> None:
        needed = packages * BYTES_PER_PACKAGE + BYTES_TO_LINK
        for directory in (output, Path(self.query("env", "GOCACHE"))):
            free = shutil.disk_usage(_existing(directory)).free
            if free < needed:
                raise errors.LabError(
                    f"{directory} has {_gigabytes(free)} free, and this build needs about "
                    f"{_gigabytes(needed)}",
                    hint="free disk space there, or set XDG_CACHE_HOME and GOCACHE to another disk",
                )

    def _run(self, arguments: Sequence[str], note: Callable[[str], None]) -> list[str]:
        """Run go with its output in the log; return its lines."""
        lines: list[str] = []
        with (
            self.log.open("a") as log,
            subprocess.Popen(  # noqa: S603 - no shell, arguments are ours
                [str(self.go.command), *arguments],
                cwd=self.module,
                env={**os.environ, **_ENVIRONMENT, **self.go.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as running,
        ):
            assert running.stdout  # noqa: S101 - asked for above
            for line in _ticking_lines(running.stdout):
                if line:
                    lines.append(line)
                    log.write(f"{line}\n")
                note(line)
        if running.returncode:
            raise self._failure(arguments, lines)
        return lines

    def _failure(self, arguments: Sequence[str], lines: Sequence[str]) -> errors.LabError:
        end = "\n".join(lines[-TAIL_LINES:])
        if "no space left on device" in end:
            return errors.LabError(
                f"no space left on device while building {self.package}; log: {self.log}",
                hint="free disk space, or set XDG_CACHE_HOME, GOCACHE and TMPDIR to another disk; "
                "the next run resumes the build",
            )
        return errors.LabError(
            f"`go {arguments[0]}` failed in {self.module} with {self.go}; "
            f"last lines of {self.log}:\n{end}",
            hint=hint(end),
        )


def _ticking_lines(pipe: IO[bytes]) -> Iterator[str]:
    """Lines of a pipe, and an empty one after every TICK_SECONDS without output."""
    rest = b""
    while True:
        if not select.select([pipe], [], [], TICK_SECONDS)[0]:
            yield ""
            continue
        chunk = os.read(pipe.fileno(), 65536)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
        if not chunk:
            if rest:
                yield rest.decode(errors="replace")
            return


def hint(output: str) -> str:
    if any(word in output for word in ("dial tcp", "no such host", "i/o timeout", "proxyconnect")):
        return "make a Go module proxy reachable (environment variable GOPROXY), then try again"
    if "checksum mismatch" in output or "SECURITY ERROR" in output:
        return "a module does not match its checksum in go.sum; check the module proxy"
    return "read the whole log"


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _gigabytes(count: int) -> str:
    return f"{count / 10**9:.1f} GB"
