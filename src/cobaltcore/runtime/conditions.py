"""Condition hygiene in one place: order, times, lengths. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from cobaltcore.runtime.clock import timestamp
from cobaltcore.runtime.meta import Condition

MESSAGE_LIMIT = 1024


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
    """Whether a condition holds, and was told about `generation` if one is given."""
    condition = find(conditions, type_)
    if condition is None or condition.status != "True":
        return False
    return generation is None or condition.observed_generation == generation


def _complete(old: Condition | None, new: Condition, now: datetime, generation: int) -> Condition:
    same = old is not None and old.status == new.status and old.last_transition_time
    message = new.message
    if len(message) > MESSAGE_LIMIT:
        message = message[: MESSAGE_LIMIT - 1] + "…"
    return msgspec.structs.replace(
        new,
        message=message,
        last_transition_time=old.last_transition_time if same and old else timestamp(now),
        observed_generation=generation,
    )
