"""From facts to a plan: walk the steps until one is not ready. Pure.

Objects of every step that was reached are wanted. Only a plan that reached the end knows all
objects that should exist, so only then may others be removed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

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

    @property
    def ready(self) -> bool:
        """Whether every step is."""
        return self.conditions[0].status == "True"


def plan(facts: Facts, steps: Sequence[Step], *, known: Iterable[Condition] = ()) -> Plan:
    """Ask the steps in order; those behind the first that is not ready keep what they said."""
    made = Plan()
    before = {each.type: each for each in known}
    blocker: tuple[str, Verdict] | None = None
    for step in steps:
        if not step.when(facts):
            continue
        if blocker is not None:
            made.complete = False
            made.conditions.append(before.get(step.condition) or _pending(step, blocker[0]))
            continue
        result = step.run(facts)
        made.objects |= {(each.kind, each.key): each for each in result.objects}
        made.remove += result.remove
        made.conditions.append(condition(step.condition, result.verdict))
        made.after = _sooner(made.after, result.verdict)
        if not isinstance(result.verdict, Ready):
            blocker = (step.condition, result.verdict)
    made.conditions.insert(0, _ready(blocker))
    return made


def _ready(blocker: tuple[str, Verdict] | None) -> Condition:
    """`Ready` is computed: it names the first step that is not, and why."""
    if blocker is None:
        return Condition(type="Ready", status="True", reason=ALL_READY)
    name, verdict = blocker
    return Condition(
        type="Ready", status="False", reason=verdict.reason, message=f"{name}: {verdict.message}"
    )


def _pending(step: Step, blocker: str) -> Condition:
    return Condition(
        type=step.condition, status="Unknown", reason=PENDING, message=f"waits for {blocker}"
    )


def _sooner(known: timedelta | None, verdict: Verdict) -> timedelta | None:
    asked = None if isinstance(verdict, Blocked) else verdict.after
    times = [each for each in (known, asked) if each is not None]
    return min(times) if times else None
