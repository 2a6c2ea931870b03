"""Installation with a fake apt-get that simulates missing package lists or network."""

from pathlib import Path

import pytest

from cobaltimages import errors, hostpackages
from cobaltlab import packages


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Log of the fake's arguments; file `fail` holds patterns of arguments that fail."""
    program = tmp_path / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/calls\n'
        f"for pattern in $(cat {tmp_path}/fail); do\n"
        '  case "$*" in *"$pattern"*) echo "E: refused $pattern"; exit 100;; esac\n'
        "done\n"
        f'[ "$1" = update ] && : > {tmp_path}/fail\n'
        "exit 0\n"
    )
    program.chmod(0o755)
    (tmp_path / "fail").touch()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return tmp_path / "calls"


def test_packages_are_installed_without_recommendations(calls: Path) -> None:
    said: list[str] = []
    hostpackages.install(["runc", "nftables"], report=said.append)
    assert calls.read_text() == "install --yes --no-install-recommends runc nftables\n"
    assert said == ["installing runc nftables"]


def test_package_lists_are_updated_when_a_package_is_unknown(calls: Path) -> None:
    (calls.parent / "fail").write_text("install")
    hostpackages.install(["runc"], report=lambda text: None)
    assert [line.split()[0] for line in calls.read_text().splitlines()] == [
        *("install", "update", "install")
    ]


def test_an_unreachable_mirror_is_reported_with_the_output_of_apt(calls: Path) -> None:
    (calls.parent / "fail").write_text("install update")
    with pytest.raises(errors.HostError, match="E: refused update") as caught:
        hostpackages.install(["runc"], report=lambda text: None)
    assert "Debian mirror" in caught.value.hint


def test_missing_packages_are_named_without_apt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.HostError, match="only with apt-get") as caught:
        hostpackages.install(["iproute2", "containerd"], report=lambda text: None)
    assert "iproute2 containerd" in str(caught.value)


def test_missing_packages_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        packages, "_is_installed", lambda program: program not in {"containerd", "ctr"}
    )
    assert packages.missing() == ["containerd"]
