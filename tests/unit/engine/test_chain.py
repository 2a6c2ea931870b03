from datetime import UTC, datetime, timedelta
from typing import Any

from cobaltcore.api.blocks import ServiceSpec
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine.chain import run
from cobaltcore.engine.definition import AnyScope, Result, ServiceScope, Step
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.runtime.meta import Condition, Desired

AnyStep = Step[ServiceSpec]
NOTHING = Observed(lambda kind, key: None, lambda kind, index, value: ())


def scope() -> AnyScope:
    unused: Any = None
    return ServiceScope(
        service=unused,
        live={},
        resource=unused,
        observed=NOTHING,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        random=lambda number: b"",
    )


def a_step(name: str, verdict: Verdict) -> AnyStep:
    wanted = Desired(CONFIG_MAP, {"metadata": {"name": name.lower(), "namespace": "ns"}})
    return Step(name, lambda _: Result(verdict, [wanted]))


def names(steps: list[AnyStep]) -> list[str]:
    return [key.name for _, key in run(scope(), steps).objects]


def test_all_ready_is_ready_and_complete() -> None:
    outcome = run(scope(), [a_step("A", Ready("Ok")), a_step("B", Ready("Ok"))])
    assert isinstance(outcome.verdict, Ready)
    assert outcome.complete
    assert [c.type for c in outcome.conditions] == ["A", "B"]


def test_the_first_blocker_is_named_and_stops_what_comes_after() -> None:
    steps = [
        a_step("A", Ready("Ok")),
        a_step("B", Waiting("NoDatabase", "Database 'x' is missing")),
        a_step("C", Ready("Ok")),
    ]
    outcome = run(scope(), steps)
    assert outcome.verdict.message == "B: Database 'x' is missing"
    assert outcome.verdict.reason == "NoDatabase"
    assert names(steps) == ["a", "b"]
    assert not outcome.complete
    assert outcome.conditions[2].status == "Unknown"
    assert outcome.conditions[2].message == "waits for B"


def test_steps_behind_a_blocker_keep_their_previous_condition() -> None:
    steps = [a_step("A", Blocked("Wrong", "fix it")), a_step("B", Ready("Ok"))]
    known = [Condition(type="B", status="True", reason="Serving")]
    assert run(scope(), steps, previous=known).conditions[1] == known[0]


def test_a_step_that_does_not_apply_has_no_condition() -> None:
    steps: list[AnyStep] = [Step("A", lambda _: Result(Ready("Ok")), enabled_if=lambda _: False)]
    assert [c.type for c in run(scope(), steps).conditions] == []


def test_the_soonest_look_counts() -> None:
    steps = [
        a_step("A", Ready("Ok", after=timedelta(hours=1))),
        a_step("B", Ready("Ok", after=timedelta(minutes=1))),
    ]
    assert run(scope(), steps).after == timedelta(minutes=1)


def test_a_step_runs_in_parallel_with_a_blocker_that_it_does_not_need() -> None:
    parallel = a_step("C", Ready("Ok"))
    steps = [
        a_step("A", Ready("Ok")),
        a_step("B", Waiting("Syncing", "the database is migrated")),
        Step("C", parallel.run, needs=("A",)),
        Step("D", a_step("D", Ready("Ok")).run, needs=("B", "C")),
    ]
    outcome = run(scope(), steps)
    assert names(steps) == ["a", "b", "c"]
    assert [each.status for each in outcome.conditions] == [
        "True",
        "False",
        "True",
        "Unknown",
    ]
    assert outcome.conditions[3].message == "waits for B"
    assert not outcome.complete, "what D wants is not known, so nothing may be removed"


def test_what_needs_a_pending_step_is_pending_too() -> None:
    steps = [
        a_step("A", Waiting("No", "not yet")),
        Step("B", a_step("B", Ready("Ok")).run, needs=("A",)),
        Step("C", a_step("C", Ready("Ok")).run, needs=("B",)),
    ]
    assert names(steps) == ["a"]
