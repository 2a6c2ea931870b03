"""Programs on the host: what a description does to a process that runs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltcore.lab import hosted, kernel

PROGRAM = hosted.Program(module="m", arguments=["a"], resolver="nameserver 192.0.2.1\n")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is taken for the program."""
    (tmp_path / "hosted").mkdir()
    found = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    kernel.remember(hosted.pid_file(tmp_path, "one"), found.pid)
    yield found
    found.kill()
    found.wait()


def test_a_new_description_is_told_and_the_same_one_is_not(tmp_path: Path) -> None:
    assert hosted.describe(tmp_path, "one", PROGRAM)
    assert hosted.names(tmp_path) == ["one"]
    assert not hosted.describe(tmp_path, "one", PROGRAM)


def test_a_changed_description_ends_the_process(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    hosted.describe(tmp_path, "one", PROGRAM)
    assert process.wait(30) != 0


def test_a_forgotten_program_is_ended_and_no_longer_described(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    hosted.forget(tmp_path, "one")
    assert process.wait(30) != 0
    assert hosted.names(tmp_path) == []
    assert hosted.pid(tmp_path, "one") is None
