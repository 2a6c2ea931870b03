"""Runs `go build` with progress: modules fetched, then packages compiled of those that are stale."""

import os
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cobaltcore.lab import errors, gotoolchain

TAIL_LINES = 20
TICK_SECONDS = 1.0
# Measured on a first build: compiled packages in Go's cache, per package, with room for linking.
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
    """One main package of one module, and the file that tells what Go said."""

    go: gotoolchain.Go
    module: Path
    package: str
    log: Path
    report: Callable[[str], None]

    def ask(self, *arguments: str) -> str:
        """Run a quick go command and return its answer."""
        return "\n".join(line for line in self._run(arguments, self._note_download))

    def build(self, output: Path, *, linker_flags: str) -> None:
        """Compile and link the package; a rebuild of the same sources gives the same bytes."""
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
        self.report("looking up what there is to compile")
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

    def _check_disk(self, directory: Path, *, packages: int) -> None:
        needed = packages * BYTES_PER_PACKAGE + BYTES_TO_LINK
        for place in (directory, Path(self.ask("env", "GOCACHE"))):
            free = shutil.disk_usage(_existing(place)).free
            if free < needed:
                raise errors.LabError(
                    f"{place} has {_gigabytes(free)} free, and this build needs about "
                    f"{_gigabytes(needed)}",
                    hint="make room there, or point XDG_CACHE_HOME and GOCACHE to another disk",
                )

    def _run(self, arguments: Sequence[str], note: Callable[[str], None]) -> list[str]:
        """Run go, write its output to the log, and return its lines."""
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
                f"the disk became full while {self.package} was built; log: {self.log}",
                hint="make room, or point XDG_CACHE_HOME, GOCACHE and TMPDIR to another disk; "
                "the next run goes on where this one ended",
            )
        return errors.LabError(
            f"`go {arguments[0]}` failed in {self.module} with {self.go}; "
            f"the end of its log {self.log}:\n{end}",
            hint=hint(end),
        )


def _ticking_lines(pipe: IO[bytes]) -> Iterator[str]:
    """Lines of a pipe as they come, and an empty one whenever a moment passes without any."""
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
        return "let this machine reach a Go module proxy (environment variable GOPROXY), then try again"
    if "checksum mismatch" in output or "SECURITY ERROR" in output:
        return "a module differs from its recorded checksum; check the module proxy in between"
    return "the log has the whole output"


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _gigabytes(count: int) -> str:
    return f"{count / 10**9:.1f} GB"
