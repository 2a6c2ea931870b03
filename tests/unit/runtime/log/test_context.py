from collections.abc import Iterator

import msgspec
import pytest
import structlog
from structlog.typing import FilteringBoundLogger

from cobaltcore.runtime import log
from cobaltcore.runtime.meta import Key


@pytest.fixture(autouse=True)
def defaults_afterwards() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def _speaker() -> FilteringBoundLogger:
    log.configure(format_="json")
    return log.get("test")


def _logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [msgspec.json.decode(line) for line in capsys.readouterr().err.splitlines()]


def test_messages_inside_of_a_context_tell_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    speaker = _speaker()
    with log.Context(controller="sample", key=Key("one", "two")):
        speaker.info("inside")
    speaker.info("outside")
    inside, outside = _logged(capsys)
    assert (inside["controller"], inside["key"]) == ("sample", "one/two")
    assert "controller" not in outside


def test_a_context_within_another_adds_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    speaker = _speaker()
    with log.Context(key="a"), log.Context(step="b"):
        speaker.info("here")
    (here,) = _logged(capsys)
    assert (here["key"], here["step"]) == ("a", "b")


def test_a_value_of_the_message_wins_over_the_context(capsys: pytest.CaptureFixture[str]) -> None:
    with log.Context(key="a"):
        _speaker().info("here", key="b")
    assert [each["key"] for each in _logged(capsys)] == ["b"]


def test_a_context_ends_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), log.Context(key="a"):
        raise KeyError
    _speaker().info("later")
    assert "key" not in _logged(capsys)[0]
