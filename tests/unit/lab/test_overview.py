import pytest

from cobaltcore.lab import overview


def nodes(*states: tuple[bool, bool]) -> list[overview.Node]:
    return [
        overview.Node(name=f"n{i}", address="", running=running, ready=ready)
        for i, (running, ready) in enumerate(states)
    ]


ALL_WELL = nodes((True, True), (True, True))
ONE_DOWN = nodes((True, True), (False, False))
ONE_UNREADY = nodes((True, True), (True, False))
NONE = nodes((False, False), (False, False))


@pytest.mark.parametrize(
    ("found", "supervised", "answers", "state", "reason"),
    [
        (ALL_WELL, True, True, "running", "2/2 nodes Ready"),
        (ALL_WELL, False, True, "degraded", "bring the supervisor back"),
        (ALL_WELL, True, False, "degraded", "the API server does not answer"),
        (ONE_DOWN, True, True, "degraded", "node n1 does not run"),
        (ONE_UNREADY, True, True, "degraded", "node n1 is not Ready"),
        (NONE, False, True, "stopped", "cobalt up"),
        (NONE, True, True, "degraded", "node n0 does not run"),
    ],
)
def test_state_and_the_first_reason(
    found: list[overview.Node], supervised: bool, answers: bool, state: str, reason: str
) -> None:
    told = overview.judge(found, supervised=supervised, answers=answers)
    assert told[0] == state
    assert reason in told[1]
