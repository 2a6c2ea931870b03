import os
import subprocess
from pathlib import Path

from cobaltlab import pidfile


def test_a_running_process_is_found(tmp_path: Path) -> None:
    pidfile.write(tmp_path / "pid", os.getpid())
    assert pidfile.running(tmp_path / "pid") == os.getpid()


def test_an_ended_process_is_not_found(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        pidfile.write(tmp_path / "pid", process.pid)
        assert pidfile.running(tmp_path / "pid") == process.pid
        process.kill()
        # A zombie still has its PID.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert pidfile.running(tmp_path / "pid") is None


def test_another_process_with_the_same_pid_is_not_found(tmp_path: Path) -> None:
    found = pidfile.identity(os.getpid())
    assert found
    for other in (found._replace(started="1"), found._replace(boot="before-the-reboot")):
        (tmp_path / "pid").write_text(" ".join(map(str, other)))
        assert pidfile.running(tmp_path / "pid") is None


def test_a_missing_or_invalid_file_yields_no_process(tmp_path: Path) -> None:
    assert pidfile.running(tmp_path / "pid") is None
    (tmp_path / "pid").write_text("")
    assert pidfile.running(tmp_path / "pid") is None
