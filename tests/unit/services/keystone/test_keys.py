import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.services.keystone.steps import keys


def a_maker() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"key{next(numbers)}"


def test_a_rotation_promotes_the_staged_key() -> None:
    before = {"0": "staged", "1": "writes"}
    after = keys.rotated(before, 3, lambda: "new")
    assert after == {"0": "new", "1": "writes", "2": "staged"}


def test_the_oldest_key_is_deleted_when_there_are_too_many() -> None:
    before = {"0": "staged", "1": "old", "2": "writes"}
    assert keys.rotated(before, 3, lambda: "new") == {"0": "new", "2": "writes", "3": "staged"}


@given(st.integers(min_value=3, max_value=10), st.integers(min_value=1, max_value=30))
def test_any_number_of_rotations_keeps_the_rules(limit: int, rotations: int) -> None:
    make = a_maker()
    known = keys.first_keys(make)
    for _ in range(rotations):
        writer = known[str(max(int(n) for n in known))]
        staged = known["0"]
        known = keys.rotated(known, limit, make)
        assert len(known) <= limit
        assert len(set(known.values())) == len(known)
        assert known[str(max(int(n) for n in known))] == staged, "the staged key writes now"
        assert writer in known.values(), "tokens of the last key are still read"
