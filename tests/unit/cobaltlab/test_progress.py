"""Progress: one rewritten line on a terminal, periodic lines in a log."""

import io

import pytest

from cobaltlab.progress import PLAIN_EVERY_SECONDS, TERMINAL_EVERY_SECONDS, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_plain_stream_gets_periodic_lines(clock: Clock) -> None:
    stream = io.StringIO()
    progress = Progress("kube", stream=stream, clock=clock)

    progress.update("1/3")
    progress.update("2/3")
    clock.now += PLAIN_EVERY_SECONDS
    progress.update("3/3")

    assert stream.getvalue() == "kube [0:00] 1/3\nkube [0:15] 3/3\n"


def test_terminal_line_is_rewritten_in_place(clock: Clock) -> None:
    stream = Terminal()
    progress = Progress("kube", stream=stream, clock=clock)

    progress.update("1/2")
    clock.now += TERMINAL_EVERY_SECONDS
    progress.update("2/2")
    clock.now += 61
    progress.finish("done")

    lines = stream.getvalue().split("\r\x1b[2K")
    assert lines == ["", "kube [0:00] 1/2", "kube [0:00] 2/2", "kube [1:01] done\n"]
