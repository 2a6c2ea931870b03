"""Child processes: waiting for conditions, stopping, restarting."""

from datetime import timedelta
from pathlib import Path

import pytest

from cobaltlab import errors
from cobaltlab.process import Child

LIMIT = timedelta(seconds=60)
SHORT = timedelta(seconds=0.1)


def a_child(tmp_path: Path, script: str) -> Child:
    return Child("worker", ["/bin/sh", "-c", script], tmp_path / "worker.log")


def test_wait_ends_when_the_condition_holds(tmp_path: Path) -> None:
    child = a_child(tmp_path, f"touch {tmp_path}/done; exec sleep 600")
    child.start()

    child.wait_until((tmp_path / "done").exists, within=LIMIT)

    assert child.is_running
    child.stop()
    assert not child.is_running


def test_wait_fails_when_the_process_ends(tmp_path: Path) -> None:
    child = a_child(tmp_path, "echo cannot bind; exit 7")
    child.start()

    with pytest.raises(errors.LabError) as caught:
        child.wait_until(lambda: False, within=LIMIT, what="answering")

    assert "worker exited with code 7 before it was answering" in caught.value.message
    assert caught.value.message.endswith("worker.log:\ncannot bind")


def test_wait_fails_after_its_timeout(tmp_path: Path) -> None:
    child = a_child(tmp_path, "exec sleep 600")
    child.start()

    with pytest.raises(errors.LabError, match="worker was not ready within 0 s"):
        child.wait_until(lambda: False, within=SHORT)

    child.kill()


def test_stop_kills_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    child = a_child(tmp_path, f"trap '' TERM; touch {tmp_path}/deaf; while :; do sleep 1; done")
    child.start()
    child.wait_until((tmp_path / "deaf").exists, within=LIMIT)

    child.stop(grace=SHORT)

    assert not child.is_running


def test_a_child_restarts_but_does_not_start_twice(tmp_path: Path) -> None:
    child = a_child(tmp_path, "echo hello; exec sleep 600")
    child.start()
    with pytest.raises(errors.LabError, match="worker is already running"):
        child.start()
    child.wait_until(lambda: child.tail() == "hello", within=LIMIT)
    child.kill()

    child.start()

    child.wait_until(lambda: child.tail() == "hello\nhello", within=LIMIT)
    child.kill()
