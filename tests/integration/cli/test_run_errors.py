"""Errors of `cobalt run` when it cannot start: one sentence, a hint, exit code 1, no traceback."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.control_plane import ControlPlaneHarness


def cobalt(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cobaltcore.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
    )


def assert_error(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_no_kubeconfig(tmp_path: Path) -> None:
    assert_error(cobalt("run", home=tmp_path), "no kubeconfig found", "hint: ")


def test_a_kubeconfig_that_is_not_yaml(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("clusters: [")
    assert_error(cobalt("run", "--kubeconfig", str(broken), home=tmp_path), str(broken))


def test_an_unreachable_api_server(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
    )
    done = cobalt("run", "--kubeconfig", str(config), home=tmp_path)
    assert_error(done, "http://127.0.0.1:1 is unreachable", "hint: ")


def test_a_user_without_rights(installed_crds: ControlPlaneHarness, tmp_path: Path) -> None:
    config = installed_crds.kubeconfig("nobody")
    done = cobalt("run", "--kubeconfig", str(config), "--health-port", "0", home=tmp_path)
    assert_error(done, "nobody", "cannot", "hint: ")


def test_missing_crds(bare_control_plane: ControlPlaneHarness, tmp_path: Path) -> None:
    config = bare_control_plane.kubeconfig()
    done = cobalt("run", "--kubeconfig", str(config), "--health-port", "0", home=tmp_path)
    assert_error(done, "the API server does not serve ", "hint: install the CRDs")


def test_an_unknown_operator(tmp_path: Path) -> None:
    assert_error(cobalt("run", "keystoan", home=tmp_path), '"keystoan"', "hint: operators are")


@pytest.fixture
def bare_control_plane() -> Iterator[ControlPlaneHarness]:
    """An API server of its own, without our kinds."""
    with ControlPlaneHarness() as plane:
        yield plane
