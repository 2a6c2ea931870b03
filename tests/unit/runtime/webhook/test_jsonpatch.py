import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobaltcore.runtime import jsonpatch

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab/~", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), VALUES, max_size=4)


def applied(document: Any, operations: list[jsonpatch.Operation]) -> Any:
    """Apply operations as RFC 6902 defines."""
    root = {"": copy.deepcopy(document)}
    for operation in operations:
        names = [
            name.replace("~1", "/").replace("~0", "~") for name in operation["path"].split("/")
        ]
        parent: Any = root
        for name in names[:-1]:
            parent = parent[int(name) if isinstance(parent, list) else name]
        last = int(names[-1]) if isinstance(parent, list) else names[-1]
        if operation["op"] != "add":
            assert isinstance(parent, list) or last in parent
        if operation["op"] == "remove":
            del parent[last]
        else:
            parent[last] = operation["value"]
    return root[""]


def spelled(value: Any) -> str:
    """Text in which True and 1 differ, and the order of fields does not matter."""
    if isinstance(value, dict):
        return repr(sorted((name, spelled(each)) for name, each in value.items()))
    return repr([spelled(each) for each in value]) if isinstance(value, list) else repr(value)


@settings(deadline=None)
@given(before=OBJECTS, after=OBJECTS)
def test_diff_leads_from_one_object_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    operations = jsonpatch.diff(before, after)

    assert spelled(applied(before, operations)) == spelled(after)


@settings(deadline=None)
@given(value=OBJECTS)
def test_diff_of_equal_objects_is_empty(value: dict[str, Any]) -> None:
    assert jsonpatch.diff(value, copy.deepcopy(value)) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({"a": True}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        (
            {"a/b": {"c~": 1}},
            {"a/b": {"c~": 2}},
            [{"op": "replace", "path": "/a~1b/c~0", "value": 2}],
        ),
        ({"a": [1, 2]}, {"a": [1, 3]}, [{"op": "replace", "path": "/a/1", "value": 3}]),
        ({"a": [1, 2]}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}]),
    ],
)
def test_diff_is_as_small_as_the_change(
    before: Any, after: Any, expected: list[jsonpatch.Operation]
) -> None:
    assert jsonpatch.diff(before, after) == expected
