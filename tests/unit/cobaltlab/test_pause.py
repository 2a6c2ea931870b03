import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import errors, pause, pidfile


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = tmp_path / "pause"
    program.write_bytes(pause.program())
    program.chmod(0o755)
    with subprocess.Popen([program]) as process:
        yield process
        process.kill()


def test_pause_runs_until_sigterm(running: subprocess.Popen[bytes]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.2)
    running.send_signal(signal.SIGTERM)
    assert running.wait(10) == -signal.SIGTERM


def test_pause_leaves_no_zombies(running: subprocess.Popen[bytes]) -> None:
    status = Path(f"/proc/{running.pid}/status")
    ignored = 1 << (signal.SIGCHLD - 1)

    def ignores_children() -> bool:
        line = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn"))
        return bool(int(line.split()[1], 16) & ignored)

    while not ignores_children():
        os.sched_yield()
    assert pidfile.identity(running.pid)


def test_every_architecture_has_a_program_of_one_page() -> None:
    for machine in ("x86_64", "aarch64"):
        program = pause.program(machine)
        assert program.startswith(b"\x7fELF")
        assert len(program) < 4096


def test_unsupported_architectures_are_named() -> None:
    with pytest.raises(errors.LabError, match="riscv64"):
        pause.program("riscv64")
