from typing import Any

import msgspec

from cobaltcore.api.credentials import SecretAggregateSpec
from cobaltcore.operators.credentials.merge import merge


def a_spec(*sources: Any) -> SecretAggregateSpec:
    return msgspec.convert(
        {"sources": list(sources), "target": {"name": "t"}}, SecretAggregateSpec
    )


def test_all_keys_are_taken_when_none_are_chosen() -> None:
    merged = merge(a_spec({"secretRef": {"name": "a"}}), {"a": {"data": {"x": "1", "y": "2"}}})
    assert merged == ({"x": "1", "y": "2"}, [])


def test_chosen_keys_are_taken_under_their_new_names() -> None:
    source = {"secretRef": {"name": "a"}, "keys": ["x"], "rename": {"x": "X"}}
    assert merge(a_spec(source), {"a": {"data": {"x": "1", "y": "2"}}}).data == {"X": "1"}


def test_everything_that_is_missing_is_named() -> None:
    spec = a_spec({"secretRef": {"name": "a"}, "keys": ["x", "z"]}, {"secretRef": {"name": "b"}})
    problems = merge(spec, {"a": {"data": {"x": "1"}}, "b": None}).problems
    assert problems == ["Secret 'a' has no key 'z'", "Secret 'b' does not exist"]


def test_the_same_key_from_two_sources_is_refused() -> None:
    spec = a_spec({"secretRef": {"name": "a"}}, {"secretRef": {"name": "b"}})
    problems = merge(spec, {"a": {"data": {"k": "1"}}, "b": {"data": {"k": "2"}}}).problems
    assert problems == ["key 'k' comes from 'a' and from 'b': rename one of them"]
