"""From facts to a plan: run every step whose needs are met. Pure.

Objects of every step that ran are wanted. Only a plan in which all steps ran knows all objects
that should exist, so only then may others be removed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cobaltcore.engine.definition import Facts, Step
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, condition
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind

ALL_READY = "AllChecksPass"
PENDING = "Pending"


@dataclass(slots=True)
class Plan:
    """What should be there, and what to report."""

    objects: dict[tuple[Kind, Key], Desired] = field(default_factory=dict)
    remove: list[tuple[Kind, Key]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    complete: bool = True
    after: timedelta | None = None
    status: dict[str, Any] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether every step is."""
        return self.conditions[0].status == "True"


def plan(facts: Facts, steps: Sequence[Step], *, known: Iterable[Condition] = ()) -> Plan:
    """Ask the steps in order; those whose needs are not met keep what they said before."""
    made = Plan()
    before = {each.type: each for each in known}
    unready: dict[str, Verdict | None] = {}
    for step in steps:
        if not step.when(facts):
            continue
        blocker = next((c for c in unready if step.needs is None or c in step.needs), "")
        if blocker:
            made.complete = False
            said = before.get(step.condition)
            if said is None or said.status == "Unknown":
                said = _pending(step, blocker)
            made.conditions.append(said)
            unready[step.condition] = None
            continue
        result = step.run(facts)
        made.objects |= {(each.kind, each.key): each for each in result.objects}
        made.remove += result.remove
        made.status |= result.status
        made.conditions.append(condition(step.condition, result.verdict))
        made.after = _sooner(made.after, result.verdict)
        if not isinstance(result.verdict, Ready):
            unready[step.condition] = result.verdict
    made.conditions.insert(0, _ready(unready))
    return made


def _ready(unready: Mapping[str, Verdict | None]) -> Condition:
    """`Ready` is computed: it names the first step that is not, and why."""
    for name, verdict in unready.items():
        if verdict is not None:
            message = f"{name}: {verdict.message}"
            return Condition(type="Ready", status="False", reason=verdict.reason, message=message)
    return Condition(type="Ready", status="True", reason=ALL_READY)


def _pending(step: Step, blocker: str) -> Condition:
    return Condition(
        type=step.condition, status="Unknown", reason=PENDING, message=f"waits for {blocker}"
    )


def _sooner(known: timedelta | None, verdict: Verdict) -> timedelta | None:
    asked = None if isinstance(verdict, Blocked) else verdict.after
    times = [each for each in (known, asked) if each is not None]
    return min(times) if times else None
