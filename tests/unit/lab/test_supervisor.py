from pathlib import Path

import pytest

from cobaltcore.lab import supervisor


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pauses(patience: supervisor.Patience, clock: Clock, count: int) -> list[float]:
    """How long each start in turn has to wait after the end of the one before."""
    found = []
    for _ in range(count):
        patience.started()
        patience.ended()
        began = clock.now
        while not patience.is_due:
            clock.now += 0.05
        found.append(round(clock.now - began, 1))
    return found


def test_the_first_start_is_due_at_once() -> None:
    clock = Clock()
    patience = supervisor.Patience(clock=clock)
    patience.ended()
    assert patience.is_due


def test_what_keeps_ending_waits_longer_each_time() -> None:
    clock = Clock()
    found = pauses(supervisor.Patience(clock=clock), clock, 10)
    assert found[:4] == [0.1, 0.2, 0.4, 0.8]
    assert found[-1] == pytest.approx(supervisor.LONGEST_PAUSE_SECONDS, abs=0.1)


def test_what_ran_for_a_while_starts_again_at_once() -> None:
    clock = Clock()
    patience = supervisor.Patience(clock=clock)
    pauses(patience, clock, 5)
    patience.started()
    clock.now += supervisor.STEADY_SECONDS + 1
    patience.ended()
    clock.now += supervisor.FIRST_PAUSE_SECONDS
    assert patience.is_due


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        (["python", "-m", "cobaltcore.lab.supervisor", "/labs/a"], "/labs/a"),
        (["python", "-m", "cobaltcore.lab.storage", "/labs/a"], "/labs/a"),
        (["python", "-m", "cobaltcore.lab.init", "/labs/a/nodes/n/node.json"], "/labs/a"),
        (["python", "-m", "http.server", "/labs/a"], None),
        (["/pause"], None),
        ([""], None),
    ],
)
def test_a_process_tells_whose_it_is(
    tmp_path: Path, command: list[str], directory: str | None
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cmdline").write_text("\0".join([*command, ""]))

    found = supervisor.directory_of(7, tmp_path)

    assert found == (Path(directory) if directory else None)


def test_a_process_that_has_ended_is_nobody_s(tmp_path: Path) -> None:
    assert supervisor.directory_of(7, tmp_path) is None
