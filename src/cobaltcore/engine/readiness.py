"""Whether other objects are ready, as verdicts. The one reader of others' conditions. Pure."""

from collections.abc import Iterable

from cobaltcore.engine.observed import Observed
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Desired, Key, Kind, Object


def of(observed: Observed, kind: Kind, key: Key, *, condition: str = "Ready") -> Verdict:
    """Whether an object reports the condition, about its newest spec if it reports generations."""
    name = f"{kind.kind} {key.name!r}"
    found = observed.get(kind, key)
    if found is None:
        return Waiting("Creating", f"{name} is being created")
    return _reported(found, name, condition)


def _reported(found: Object, name: str, condition: str) -> Verdict:
    if found["metadata"].get("deletionTimestamp"):
        return Waiting("Deleting", f"{name} is being deleted")
    reported = conditions.find(conditions.of(found), condition)
    if reported is None:
        return Waiting("NotReported", f"{name} has not reported {condition} yet")
    if reported.observed_generation not in (None, found["metadata"].get("generation")):
        return Waiting("NotObserved", f"{name}: its newest spec is not observed yet")
    if reported.status == "True":
        return Ready("Ready")
    why = reported.message or reported.reason or f"{condition} is {reported.status}"
    return Waiting(reported.reason or "NotReady", f"{name}: {why}")


def first_unready(observed: Observed, objects: Iterable[Desired]) -> str:
    """The first object that is not Ready, and why; empty if all are."""
    for each in objects:
        verdict = of(observed, each.kind, each.key)
        if not isinstance(verdict, Ready):
            return verdict.message
    return ""


def is_true(found: Object | None, condition: str) -> bool:
    return conditions.is_true(conditions.of(found), condition)


def message(found: Object | None, condition: str) -> str:
    reported = conditions.find(conditions.of(found), condition)
    return reported.message if reported else ""
