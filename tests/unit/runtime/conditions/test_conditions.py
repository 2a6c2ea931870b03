from datetime import UTC, datetime

import pytest

from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition

THEN = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 6, 1, 12, 0, 0, 999, tzinfo=UTC)


def a_condition(status: str = "True", **fields: object) -> Condition:
    return Condition(type="Ready", status=status, **fields)  # type: ignore[arg-type]


def test_the_time_of_transition_stays_while_the_status_does() -> None:
    before = a_condition(last_transition_time=THEN, reason="Old")
    [after] = conditions.merge([before], [a_condition(reason="New")], now=NOW, generation=4)
    assert (after.last_transition_time, after.reason, after.observed_generation) == (
        THEN,
        "New",
        4,
    )


def test_the_time_of_transition_moves_with_the_status_and_has_no_fractions() -> None:
    before = a_condition("False", last_transition_time=THEN)
    [after] = conditions.merge([before], [a_condition()], now=NOW, generation=1)
    assert after.last_transition_time == "2026-06-01T12:00:00Z"


def test_a_long_message_is_cut() -> None:
    [after] = conditions.merge([], [a_condition(message="x" * 5000)], now=NOW, generation=1)
    assert len(after.message) == conditions.MESSAGE_LIMIT


def test_a_condition_about_an_older_generation_does_not_hold() -> None:
    known = [a_condition(observed_generation=1)]
    assert conditions.is_true(known, "Ready", generation=1)
    assert not conditions.is_true(known, "Ready", generation=2)
    assert not conditions.is_true(known, "Other")


def test_of_reads_conditions_with_missing_and_null_fields() -> None:
    obj = {
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False", "message": "0/1 pods ready"},
                {"type": "Available", "status": "True", "reason": None, "observedGeneration": 3},
            ]
        }
    }
    assert conditions.of(obj) == [
        Condition(type="Ready", status="False", message="0/1 pods ready"),
        Condition(type="Available", status="True", observed_generation=3),
    ]


@pytest.mark.parametrize(
    "obj",
    [
        None,
        {},
        {"status": None},
        {"status": "Ready"},
        {"status": {"conditions": None}},
        {"status": {"conditions": {"type": "Ready"}}},
        {"status": {"conditions": ["Ready", {"status": "True"}, {"type": "Ready"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": {}}]}},
    ],
)
def test_of_leaves_out_what_is_no_condition(obj: dict[str, object] | None) -> None:
    assert conditions.of(obj) == []
