from datetime import UTC, datetime, timedelta
from typing import Any

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine.definition import Facts, Result, Step
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.plan import plan
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.runtime.meta import Condition, Desired

NOTHING = Observed(lambda kind, key: None, lambda kind, index, value: ())


def facts() -> Facts:
    unused: Any = None
    return Facts(unused, {}, unused, NOTHING, datetime(2026, 1, 1, tzinfo=UTC), lambda n: b"")


def a_step(name: str, verdict: Verdict) -> Step:
    wanted = Desired(CONFIG_MAP, {"metadata": {"name": name.lower(), "namespace": "ns"}})
    return Step(name, lambda _: Result(verdict, [wanted]))


def names(steps: list[Step]) -> list[str]:
    return [key.name for _, key in plan(facts(), steps).objects]


def test_all_ready_is_ready_and_complete() -> None:
    made = plan(facts(), [a_step("A", Ready("Ok")), a_step("B", Ready("Ok"))])
    assert made.ready
    assert made.complete
    assert [c.type for c in made.conditions] == ["Ready", "A", "B"]


def test_the_first_blocker_is_named_and_stops_what_comes_after() -> None:
    steps = [
        a_step("A", Ready("Ok")),
        a_step("B", Waiting("NoDatabase", "Database 'x' is missing")),
        a_step("C", Ready("Ok")),
    ]
    made = plan(facts(), steps)
    assert made.conditions[0].message == "B: Database 'x' is missing"
    assert made.conditions[0].reason == "NoDatabase"
    assert names(steps) == ["a", "b"]
    assert not made.complete
    assert made.conditions[3].status == "Unknown"
    assert made.conditions[3].message == "waits for B"


def test_steps_behind_a_blocker_keep_what_they_said_before() -> None:
    steps = [a_step("A", Blocked("Wrong", "fix it")), a_step("B", Ready("Ok"))]
    known = [Condition(type="B", status="True", reason="Serving")]
    assert plan(facts(), steps, known=known).conditions[2] == known[0]


def test_a_step_that_does_not_apply_has_no_condition() -> None:
    steps = [Step("A", lambda _: Result(Ready("Ok")), when=lambda _: False)]
    assert [c.type for c in plan(facts(), steps).conditions] == ["Ready"]


def test_the_soonest_look_counts() -> None:
    steps = [
        a_step("A", Ready("Ok", after=timedelta(hours=1))),
        a_step("B", Ready("Ok", after=timedelta(minutes=1))),
    ]
    assert plan(facts(), steps).after == timedelta(minutes=1)


def test_a_step_runs_beside_a_blocker_that_it_does_not_need() -> None:
    beside = a_step("C", Ready("Ok"))
    steps = [
        a_step("A", Ready("Ok")),
        a_step("B", Waiting("Syncing", "the database is migrated")),
        Step("C", beside.run, needs=("A",)),
        Step("D", a_step("D", Ready("Ok")).run, needs=("B", "C")),
    ]
    made = plan(facts(), steps)
    assert names(steps) == ["a", "b", "c"]
    assert [each.status for each in made.conditions] == [
        "False",
        "True",
        "False",
        "True",
        "Unknown",
    ]
    assert made.conditions[4].message == "waits for B"
    assert not made.complete, "what D wants is not known, so nothing may be removed"


def test_what_a_held_step_is_needed_for_is_held_too() -> None:
    steps = [
        a_step("A", Waiting("No", "not yet")),
        Step("B", a_step("B", Ready("Ok")).run, needs=("A",)),
        Step("C", a_step("C", Ready("Ok")).run, needs=("B",)),
    ]
    assert names(steps) == ["a"]
