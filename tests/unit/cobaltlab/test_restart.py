"""Restart back-off of daemons, nodes and host processes."""

import pytest

from cobaltlab import restart

FIRST = 0.1
LONGEST = 15.0


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def backoff(clock: Clock) -> restart.RestartBackoff:
    return restart.RestartBackoff(first=FIRST, longest=LONGEST, clock=clock)


def delays(backoff: restart.RestartBackoff, clock: Clock, count: int) -> list[float]:
    """Restart repeatedly; how long each start was delayed."""
    found = []
    for _ in range(count):
        backoff.started()
        delay = backoff.ended()
        early = backoff.is_due
        clock.now += delay
        assert (early, backoff.is_due) == (False, True)
        found.append(delay)
    return found


def test_the_first_start_is_due_immediately(backoff: restart.RestartBackoff) -> None:
    backoff.ended()
    assert backoff.is_due


def test_the_delay_doubles_while_a_process_keeps_ending(
    backoff: restart.RestartBackoff, clock: Clock
) -> None:
    found = delays(backoff, clock, 10)
    assert found[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert found[-1] == LONGEST


def test_a_steady_run_resets_the_delay(backoff: restart.RestartBackoff, clock: Clock) -> None:
    delays(backoff, clock, 5)
    backoff.started()
    clock.now += restart.STEADY_SECONDS + 1
    assert backoff.ended() == FIRST
