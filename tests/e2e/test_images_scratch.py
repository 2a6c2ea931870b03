"""Builds leave no process, mount or file behind."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltimages import scratch
from tests.support.lab import eventually

OPEN_AND_WAIT = """
import subprocess, sys
from pathlib import Path
from cobaltimages import scratch
with scratch.opened(Path(sys.argv[1]), {}) as place:
    child = subprocess.Popen(place.command(["sh", "-c", f"exec sleep {sys.argv[2]}"]))
    print(place.keeper, flush=True)
    child.wait()
"""


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "place"
    subprocess.run(["umount", "--lazy", tmp_path / "place"], capture_output=True, check=False)


def run(place: scratch.Scratch, script: str) -> str:
    done = subprocess.run(place.command(["sh", "-c", script]), capture_output=True, check=True)
    return done.stdout.decode()


def is_running(argument: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if argument.encode() in command and b"sleep" in command[0]:
            return True
    return False


def test_files_are_visible_inside_and_deleted_afterwards(directory: Path) -> None:
    with scratch.opened(directory, {}) as place:
        place.outside(directory / "file").write_text("content")
        assert run(place, f"cat {directory}/file") == "content"

    assert not directory.exists()
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()


def test_orphans_are_reaped(directory: Path) -> None:
    with scratch.opened(directory, {}) as place:
        run(place, "(true & true & exit 0)")

        assert eventually(
            lambda: "Z" not in run(place, "cat /proc/[0-9]*/status | grep ^State: || true"),
            "no zombie is left",
        )


def test_a_killed_build_leaves_nothing_behind(directory: Path) -> None:
    seconds = str(10**6 + uuid.uuid4().int % 10**6)
    builder = subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_WAIT, directory, seconds],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert builder.stdout
    keeper = int(builder.stdout.readline())
    assert eventually(lambda: is_running(seconds), "the build runs a command")

    builder.send_signal(signal.SIGKILL)
    builder.wait()
    builder.stdout.close()

    assert eventually(lambda: not is_running(seconds), "the command has ended")
    assert eventually(lambda: not Path(f"/proc/{keeper}/root").exists(), "the keeper has ended")
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()
    assert list(directory.iterdir()) == []
