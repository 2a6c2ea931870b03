import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.runtime import diff

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(values)
def test_everything_contains_itself(value: object) -> None:
    assert diff.contains(value, value)


@given(values)
def test_the_digest_ignores_the_order_of_fields(value: object) -> None:
    assert diff.digest({"a": value, "b": 1}) == diff.digest({"b": 1, "a": value})


@pytest.mark.parametrize(
    ("live", "desired", "contained"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="others may add fields"),
        pytest.param({"a": 2}, {"a": 1}, False, id="a changed field"),
        pytest.param({}, {"a": 1}, False, id="a removed field"),
        pytest.param({}, {"a": {}}, True, id="the server drops empty maps"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="plain lists are whole"),
        pytest.param(
            {"c": [{"name": "x", "image": "i", "pull": "Always"}]},
            {"c": [{"name": "x", "image": "i"}]},
            True,
            id="defaults inside items",
        ),
        pytest.param(
            {"c": [{"name": "sidecar"}, {"name": "x", "image": "i"}]},
            {"c": [{"name": "x", "image": "i"}]},
            True,
            id="an injected item before ours",
        ),
        pytest.param(
            {"c": [{"name": "sidecar"}, {"name": "x", "image": "other"}]},
            {"c": [{"name": "x", "image": "i"}]},
            False,
            id="own item changed next to an injected one",
        ),
        pytest.param({"a": "1"}, {"a": "1000m"}, False, id="another spelling is a difference"),
    ],
)
def test_contains(live: object, desired: object, contained: bool) -> None:
    assert diff.contains(live, desired) is contained


def test_project_keeps_what_the_desired_state_speaks_about() -> None:
    live = {"spec": {"cpu": "1", "extra": True}, "status": {}}
    assert diff.project(live, {"spec": {"cpu": "1000m"}}) == {"spec": {"cpu": "1"}}
