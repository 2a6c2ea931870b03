"""From a service's steps to its plan: run every step whose needs are met. Pure.

Objects of every step that ran are desired. Only a chain in which all steps ran knows all objects
that should exist, so only then are others pruned.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from cobaltcore.engine.definition import Result, ServiceScope, SpecT, Step
from cobaltcore.engine.plan import Link, Removal
from cobaltcore.engine.verdict import (
    Blocked,
    DependencyPending,
    InputInvalid,
    Ready,
    Verdict,
    Waiting,
    blaming,
    condition,
)
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind

ALL_READY = "AllChecksPass"
PENDING = "Pending"


@dataclass(slots=True)
class Outcome:
    """What the steps of a chain want and report."""

    objects: dict[tuple[Kind, Key], Desired] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    status: dict[str, object] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=lambda: Ready(ALL_READY))
    complete: bool = True
    after: timedelta | None = None


def run(
    scope: ServiceScope[SpecT],
    steps: Sequence[Step[SpecT]],
    *,
    previous: Iterable[Condition] = (),
) -> Outcome:
    """Ask the steps in order; those whose needs are not met keep their previous condition."""
    outcome = Outcome()
    before = {each.type: each for each in previous}
    unready: list[str] = []
    for step in steps:
        if not step.enabled_if(scope):
            continue
        blocker = next((c for c in unready if step.needs is None or c in step.needs), "")
        if blocker:
            outcome.complete = False
            outcome.conditions.append(_pending(step.condition, blocker, before))
            waiting = Waiting(PENDING, f"waits for {blocker}")
            outcome.links.append(Link(step.condition, waiting, waits_for=(blocker,)))
            unready.append(step.condition)
            continue
        result = _ask(scope, step)
        _add(outcome, step.condition, result)
        if not isinstance(result.verdict, Ready):
            unready.append(step.condition)
            if isinstance(outcome.verdict, Ready):
                outcome.verdict = blaming(step.condition, result.verdict)
    return outcome


def _ask(scope: ServiceScope[SpecT], step: Step[SpecT]) -> Result:
    try:
        return step.run(scope)
    except (DependencyPending, InputInvalid) as reason:
        return Result(reason.verdict)


def _add(outcome: Outcome, type_: str, result: Result) -> None:
    outcome.objects |= {(each.kind, each.key): each for each in result.objects}
    outcome.removals += result.removals
    outcome.status |= result.status
    outcome.conditions.append(condition(type_, result.verdict))
    outcome.links.append(Link(type_, result.verdict, result.objects))
    if not isinstance(result.verdict, Blocked) and result.verdict.after is not None:
        outcome.after = min(outcome.after or result.verdict.after, result.verdict.after)


def _pending(type_: str, blocker: str, before: dict[str, Condition]) -> Condition:
    previous = before.get(type_)
    if previous is not None and previous.status != "Unknown":
        return previous
    return Condition(type=type_, status="Unknown", reason=PENDING, message=f"waits for {blocker}")
