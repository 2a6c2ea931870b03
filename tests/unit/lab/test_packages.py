"""Installation with a stand-in for apt-get that plays what a machine without lists or network says."""

from pathlib import Path

import pytest

from cobaltcore.lab import errors, packages


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stand-in writes its arguments; `fail` holds the patterns that it refuses."""
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
    packages.install(["runc", "nftables"], report=said.append)
    assert calls.read_text() == "install --yes --no-install-recommends runc nftables\n"
    assert said == ["installing runc nftables"]


def test_lists_are_fetched_when_they_do_not_know_a_package(calls: Path) -> None:
    (calls.parent / "fail").write_text("install")
    packages.install(["runc"], report=lambda text: None)
    assert [line.split()[0] for line in calls.read_text().splitlines()] == [
        *("install", "update", "install")
    ]


def test_no_network_is_told_with_the_words_of_apt(calls: Path) -> None:
    (calls.parent / "fail").write_text("install update")
    with pytest.raises(errors.LabError, match="E: refused update") as caught:
        packages.install(["runc"], report=lambda text: None)
    assert "Debian mirror" in caught.value.hint


def test_another_distribution_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.LabError, match="Debian and its kin") as caught:
        packages.install(["iproute2", "containerd"], report=lambda text: None)
    assert caught.value.hint.endswith(": ip containerd ctr")


def test_missing_packages_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        packages, "_is_there", lambda program: program not in {"containerd", "ctr"}
    )
    assert packages.missing() == ["containerd"]
