"""What a step says about itself. Three verdicts and no more; an exception means: try again later."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from cobaltcore.runtime.meta import Condition


@dataclass(frozen=True, slots=True)
class Ready:
    """The step is done; `after` asks for another look even if nothing changes."""

    reason: str
    message: str = ""
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that the step needs is on its way; the message names it."""

    reason: str
    message: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """A person must act; the message says how. No retry loop: a change wakes the step."""

    reason: str
    message: str


Verdict: TypeAlias = Ready | Waiting | Blocked


def condition(type_: str, verdict: Verdict) -> Condition:
    """The verdict as a condition of an object."""
    return Condition(
        type=type_,
        status="True" if isinstance(verdict, Ready) else "False",
        reason=verdict.reason,
        message=verdict.message,
    )
