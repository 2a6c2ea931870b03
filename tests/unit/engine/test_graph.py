from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine import graph
from cobaltcore.engine.graph import Node
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.runtime.meta import Desired

View = dict[str, Verdict]


def a_node(name: str, *needs: str, phase: str = "P", wanted: bool = True) -> Node[View]:
    created = Desired(CONFIG_MAP, {"metadata": {"name": name, "namespace": "ns"}})
    return Node(
        name,
        phase,
        objects=lambda _: [created],
        ready=lambda view: view.get(name, Ready("Ok")),
        needs=needs,
        enabled_if=lambda _: wanted,
    )


NODES = [a_node("api", "db", "cache"), a_node("db"), a_node("cache"), a_node("front", "api")]


def test_parts_come_after_what_they_need() -> None:
    assert [node.name for node in graph.ordered(NODES)] == ["db", "cache", "api", "front"]


def test_teardown_is_the_other_way_round() -> None:
    assert [node.name for node in graph.teardown(NODES)] == ["front", "api", "cache", "db"]


def test_parts_whose_needs_are_not_met_are_left_alone() -> None:
    view: View = {"db": Waiting("Starting", "0/1 pods")}
    found = graph.walk(NODES, view)
    assert [each.key.name for each in found.apply] == ["db", "cache"]
    assert [each.key.name for each in found.expected] == ["api", "front"]
    assert len(found.apply) == 2


def test_part_may_start_before_all_of_its_needs_are_ready() -> None:
    view: View = {"db": Ready("Ok"), "cache": Waiting("Starting", "0/1 pods")}
    nodes = [
        a_node("db"),
        a_node("cache"),
        replace(a_node("api", "db", "cache"), start_after=("db",)),
    ]
    found = graph.walk(nodes, view)
    assert [each.key.name for each in found.apply] == ["db", "cache", "api"]
    assert found.verdicts["api"] == Waiting(graph.PENDING, "waits for cache")


def test_the_blocker_is_the_part_that_others_wait_for() -> None:
    waiting = Waiting("Starting", "0/1 pods")
    view: View = {"db": waiting}
    assert graph.walk(NODES, view).blocker == ("db", waiting)
    assert graph.walk(NODES, {}).blocker is None


def test_a_part_that_is_switched_off_is_not_waited_for() -> None:
    nodes = [a_node("db", wanted=False), a_node("api", "db")]
    found = graph.walk(nodes, {})
    assert list(found.verdicts) == ["api"]
    assert found.progress == (1, 1)


def test_progress_counts_parts_that_serve_not_those_that_roll() -> None:
    """A part that rolls, and those that wait for it, serve as before."""
    nodes = [replace(each, serves=lambda _: True) if each.name == "db" else each for each in NODES]
    view: View = {"db": Waiting("Rolling", "1/2 pods of 'db' updated")}
    found = graph.walk(nodes, view)
    assert found.blocker == ("db", view["db"])
    assert found.progress == (4, 4)
    assert graph.walk(NODES, view).progress == (3, 4), "db itself is down, others are as they were"


def test_a_circle_is_an_error() -> None:
    with pytest.raises(ValueError, match="cycle"):
        graph.ordered([a_node("a", "b"), a_node("b", "a")])


@given(st.data())
def test_any_graph_is_walked_in_an_order_that_respects_needs(data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(data.draw(st.integers(1, 8)))]
    nodes = [
        a_node(
            name,
            *data.draw(st.lists(st.sampled_from(names[:index]), unique=True)) if index else (),
        )
        for index, name in enumerate(names)
    ]
    shuffled = data.draw(st.permutations(nodes))
    seen: set[str] = set()
    for node in graph.ordered(shuffled):
        assert set(node.needs) <= seen
        seen.add(node.name)
