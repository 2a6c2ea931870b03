"""Condition hygiene in one place: order, times, lengths. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, get_args

import msgspec

from cobaltcore.runtime.meta import Condition, ConditionStatus, Object
from cobaltcore.runtime.text import shortened
from cobaltcore.runtime.timestamps import timestamp

MESSAGE_LIMIT = 1024
_STATUSES = get_args(ConditionStatus)


def of(obj: Object | None) -> list[Condition]:
    """Read `status.conditions` of any object, also of other writers.

    Absent and null fields take their defaults; an entry without a type or with a status that is
    none of True, False and Unknown is left out.
    """
    status = (obj or {}).get("status")
    listed = status.get("conditions") if isinstance(status, dict) else None
    if not isinstance(listed, list):
        return []
    return [condition for entry in listed if (condition := _read(entry)) is not None]


def merge(
    previous: Iterable[Condition], current: Sequence[Condition], *, now: datetime, generation: int
) -> list[Condition]:
    """Complete new conditions: a time of transition is kept while the status stays the same."""
    known = {condition.type: condition for condition in previous}
    return [_complete(known.get(c.type), c, now, generation) for c in current]


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of that type, or None."""
    return next((c for c in conditions if c.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str, *, generation: int | None = None) -> bool:
    """Whether a condition is True, and was observed at `generation` if one is given."""
    condition = find(conditions, type_)
    if condition is None or condition.status != "True":
        return False
    return generation is None or condition.observed_generation == generation


def _read(entry: Any) -> Condition | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        return None
    if entry.get("status") not in _STATUSES:
        return None
    generation = entry.get("observedGeneration")
    return Condition(
        type=entry["type"],
        status=entry["status"],
        reason=_text(entry.get("reason")),
        message=_text(entry.get("message")),
        last_transition_time=_text(entry.get("lastTransitionTime")),
        observed_generation=generation if isinstance(generation, int) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _complete(old: Condition | None, new: Condition, now: datetime, generation: int) -> Condition:
    same = old is not None and old.status == new.status and old.last_transition_time
    return msgspec.structs.replace(
        new,
        message=shortened(new.message, MESSAGE_LIMIT),
        last_transition_time=old.last_transition_time if same and old else timestamp(now),
        observed_generation=generation,
    )
