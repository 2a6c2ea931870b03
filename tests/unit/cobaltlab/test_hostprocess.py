"""Host processes: effects of a declaration on a running process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import hostprocess, pidfile

PROCESS = hostprocess.HostProcess(module="m", arguments=["a"], resolver="nameserver 192.0.2.1\n")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is recorded in the PID file."""
    (tmp_path / "hosted").mkdir()
    found = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    pidfile.write(hostprocess.pid_file(tmp_path, "one"), found.pid)
    yield found
    found.kill()
    found.wait()


def test_declaring_the_same_process_again_changes_nothing(tmp_path: Path) -> None:
    assert hostprocess.declare(tmp_path, "one", PROCESS)
    assert hostprocess.names(tmp_path) == ["one"]
    assert not hostprocess.declare(tmp_path, "one", PROCESS)


def test_a_changed_declaration_stops_the_process(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    hostprocess.declare(tmp_path, "one", PROCESS)
    assert process.wait(30) != 0


def test_a_removed_process_is_stopped_and_no_longer_declared(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    hostprocess.remove(tmp_path, "one")
    assert process.wait(30) != 0
    assert hostprocess.names(tmp_path) == []
    assert hostprocess.pid(tmp_path, "one") is None
