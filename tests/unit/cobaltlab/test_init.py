"""The first process of a node: when daemons start, start again, and which logs are kept."""

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from cobaltlab import init, initconfig


def a_program(tmp_path: Path, *command: str, **changes: object) -> init.Program:
    daemon = initconfig.Daemon(name="it", command=list(command), **changes)  # type: ignore[arg-type]
    return init.Program(daemon, tmp_path / "it.log")


def finish(program: init.Program) -> None:
    _, status = os.waitpid(program.pid, 0)
    program.ended(str(os.waitstatus_to_exitcode(status)))


def an_init(tmp_path: Path, *daemons: initconfig.Daemon) -> init.Init:
    node = initconfig.InitConfig(
        name="n",
        number=0,
        directory=str(tmp_path),
        bind_mounts=[],
        network=[],
        files={},
        daemons=list(daemons),
    )
    node.logs.mkdir()
    return init.Init(node)


def test_a_program_writes_to_its_log(tmp_path: Path) -> None:
    program = a_program(tmp_path, "sh", "-c", "echo out; echo err >&2")
    program.start()
    finish(program)
    assert program.log.read_text() == "out\nerr\n"


def test_a_program_waits_for_all_its_gates_once(tmp_path: Path) -> None:
    program = a_program(tmp_path, "true", after=["done:a", "done:b"])
    assert not program.is_due(lambda gate: gate == "done:a")
    assert program.is_due(lambda condition: True)
    assert program.is_due(lambda gate: False)


def test_a_program_that_ended_pauses_before_it_starts_again(tmp_path: Path) -> None:
    program = a_program(tmp_path, "false")
    program.start()
    finish(program)
    assert not program.is_due(lambda condition: True)
    deadline = time.monotonic() + 30
    while not program.is_due(lambda condition: True):
        assert time.monotonic() < deadline
        os.sched_yield()


def test_a_program_that_runs_once_is_done_when_it_succeeds(tmp_path: Path) -> None:
    good, bad = (a_program(tmp_path, name, once=True) for name in ("true", "false"))
    for program in (good, bad):
        program.start()
        finish(program)
    assert (good.done, bad.done) == (True, False)
    assert not good.is_due(lambda condition: True)


def test_a_missing_program_is_retried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = a_program(tmp_path, "/no/such/program")
    program.start()
    assert not program.pid
    assert not program.done
    assert "cannot be started: No such file" in capsys.readouterr().err


def test_a_socket_condition_holds_while_a_process_listens(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    node = an_init(tmp_path)
    assert not node._is_met(f"unix:{path}")
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(path)
        unix.listen()
        port = tcp.getsockname()[1]
        assert node._is_met(f"unix:{path}")
        assert node._is_met(f"tcp:127.0.0.1:{port}")
    assert not node._is_met(f"tcp:127.0.0.1:{port}")


def test_a_done_condition_holds_after_exit_code_0(tmp_path: Path) -> None:
    node = an_init(tmp_path, initconfig.Daemon(name="first", command=["true"], once=True))
    assert not node._is_met("done:first")
    node._programs[0].start()
    finish(node._programs[0])
    assert node._is_met("done:first")


def test_a_long_log_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "LOG_BYTES", 10)
    program = a_program(tmp_path, "echo", "new")
    program.log.write_text("old and long\n")
    program.start()
    finish(program)
    assert program.log.read_text() == "new\n"
    assert (tmp_path / "it.log.1").read_text() == "old and long\n"


def test_stop_waits_for_processes_with_a_sigterm_handler_only(tmp_path: Path) -> None:
    handler = "import signal; signal.signal(15, print); print('set', flush=True); signal.pause()"
    handling = a_program(tmp_path, sys.executable, "-c", handler)
    ignoring = init.Program(
        initconfig.Daemon(name="d", command=["sleep", "60"]), tmp_path / "d.log"
    )
    for program in (handling, ignoring):
        program.start()
    deadline = time.monotonic() + 30
    while "set" not in handling.log.read_text():
        assert time.monotonic() < deadline
        os.sched_yield()
    try:
        assert init._handles_sigterm(handling.pid)
        assert not init._handles_sigterm(ignoring.pid)
        assert not init._handles_sigterm(2**22 + 1)
    finally:
        for program in (handling, ignoring):
            os.kill(program.pid, 9)
            finish(program)
