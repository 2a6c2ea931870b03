"""Readiness of agents without a port."""

from pathlib import Path

import pytest

from cobaltcore.agents import readiness

AGENT = "ovs-sidecar"


class Clock:
    """The clock that an agent and its probe share."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(readiness, "DIRECTORY", tmp_path)
    monkeypatch.setattr(readiness, "time", fake)
    return fake


def test_an_agent_is_not_ready_before_its_first_success(clock: Clock) -> None:
    assert "has not done its work yet" in (readiness.problem(AGENT) or "")


def test_a_success_makes_an_agent_ready_for_some_time(clock: Clock) -> None:
    assert readiness.renew(AGENT, valid_seconds=60)
    clock.now += 59
    assert readiness.problem(AGENT) is None
    clock.now += 6
    assert "silent for 5 s longer" in (readiness.problem(AGENT) or "")


def test_an_agent_that_keeps_working_stays_ready(clock: Clock) -> None:
    readiness.renew(AGENT, valid_seconds=60)
    for _ in range(10):
        clock.now += 20
        assert not readiness.renew(AGENT, valid_seconds=60)
        assert readiness.problem(AGENT) is None


def test_a_failure_makes_an_agent_not_ready(clock: Clock) -> None:
    readiness.renew(AGENT, valid_seconds=60)
    readiness.withdraw(AGENT)
    assert readiness.problem(AGENT) is not None
    assert readiness.renew(AGENT, valid_seconds=60)
