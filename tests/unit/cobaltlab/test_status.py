import pytest

from cobaltlab import status


def nodes(*states: tuple[bool, bool]) -> list[status.Node]:
    return [
        status.Node(name=f"n{i}", address="", running=running, ready=ready)
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
        (ALL_WELL, False, True, "degraded", "the supervisor is not running"),
        (ALL_WELL, True, False, "degraded", "the API server does not answer"),
        (ONE_DOWN, True, True, "degraded", 'node "n1" is not running'),
        (ONE_UNREADY, True, True, "degraded", 'node "n1" is not Ready'),
        (NONE, False, True, "stopped", "cobalt up"),
        (NONE, True, True, "degraded", 'node "n0" is not running'),
    ],
)
def test_state_and_first_problem(
    found: list[status.Node], supervised: bool, answers: bool, state: str, reason: str
) -> None:
    result = status.state_of(found, supervised=supervised, answers=answers)
    assert result[0] == state
    assert reason in result[1]
