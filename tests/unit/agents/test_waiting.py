"""The one wait helper of agents."""

from cobaltcore.agents import waiting


def test_waiting_ends_when_the_condition_holds() -> None:
    answers = iter([False, False, True])
    assert waiting.wait_until(lambda: next(answers), interval=0)
    assert list(answers) == []


def test_waiting_ends_after_the_timeout() -> None:
    answers = iter([False, True])
    assert not waiting.wait_until(lambda: next(answers), interval=0, timeout=0)
    assert list(answers) == [True]
