import os
import subprocess
from pathlib import Path

from cobaltcore.lab import kernel


def test_a_running_process_is_recalled(tmp_path: Path) -> None:
    kernel.remember(tmp_path / "pid", os.getpid())
    assert kernel.recall(tmp_path / "pid") == os.getpid()


def test_a_process_that_ended_is_not_recalled(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        kernel.remember(tmp_path / "pid", process.pid)
        assert kernel.recall(tmp_path / "pid") == process.pid
        process.kill()
        # Not collected yet, so the number is still taken.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert kernel.recall(tmp_path / "pid") is None


def test_another_process_with_the_same_number_is_not_recalled(tmp_path: Path) -> None:
    found = kernel.identity(os.getpid())
    assert found
    for other in (found._replace(started="1"), found._replace(boot="before-the-reboot")):
        (tmp_path / "pid").write_text(" ".join(map(str, other)))
        assert kernel.recall(tmp_path / "pid") is None


def test_nothing_is_recalled_from_a_missing_or_broken_file(tmp_path: Path) -> None:
    assert kernel.recall(tmp_path / "pid") is None
    (tmp_path / "pid").write_text("")
    assert kernel.recall(tmp_path / "pid") is None
