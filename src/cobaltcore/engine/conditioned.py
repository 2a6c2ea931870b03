"""What other objects say about themselves in their conditions. Pure."""

from collections.abc import Iterable

from cobaltcore.engine.definition import Facts
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Desired, Object


def told(obj: Object) -> list[Condition]:
    """The conditions of any object."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return [
        Condition(
            type=each["type"],
            status=each["status"],
            message=each.get("message", ""),
            observed_generation=each.get("observedGeneration"),
        )
        for each in found
    ]


def is_true(obj: Object | None, type_: str) -> bool:
    """Whether a condition is True; one that nobody has told is not."""
    return obj is not None and conditions.is_true(told(obj), type_)


def message(obj: Object | None, type_: str) -> str:
    """What a condition says for people."""
    found = conditions.find(told(obj), type_) if obj is not None else None
    return found.message if found else ""


def first_unready(facts: Facts, objects: Iterable[Desired]) -> str:
    """The first object that is not Ready, and why; empty if all are."""
    for each in objects:
        found = facts.observed.get(each.kind, each.key)
        if not is_true(found, "Ready"):
            why = message(found, "Ready") or "not reconciled yet"
            return f"{each.kind.kind} {each.key.name!r}: {why}"
    return ""
