"""Outcome of a step. Three verdicts and no more; an exception means: try again later."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from cobaltcore.runtime.meta import Condition

STALLED = "Stalled"
FAILED = "ReconcileFailed"
"""Reason of an object whose reconcile ended with an error."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The step is done; `after` asks for another look even if nothing changes."""

    reason: str
    message: str = ""
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that the step needs is in progress; the message names it."""

    reason: str
    message: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """A person must act; the message describes how. No retry loop: a change wakes the step."""

    reason: str
    message: str


Verdict: TypeAlias = Ready | Waiting | Blocked


class DependencyPending(Exception):
    """A step needs something that is in progress: ends as Waiting."""

    def __init__(self, reason: str, message: str, *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.verdict = Waiting(reason, message, after=after)


class InputInvalid(Exception):
    """A step cannot use what the user configured: ends as Blocked."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.verdict = Blocked(reason, message)


def condition(type_: str, verdict: Verdict) -> Condition:
    """The verdict as a condition of an object."""
    return Condition(
        type=type_,
        status="True" if isinstance(verdict, Ready) else "False",
        reason=verdict.reason,
        message=verdict.message,
    )


def overall(verdict: Verdict) -> list[Condition]:
    """Ready and, only while a person must act, Stalled."""
    found = [condition("Ready", verdict)]
    if isinstance(verdict, Blocked):
        found.append(
            Condition(type=STALLED, status="True", reason=verdict.reason, message=verdict.message)
        )
    return found


def blaming(name: str, verdict: Verdict) -> Verdict:
    """The verdict on the whole, from the first part that is not ready."""
    message = f"{name}: {verdict.message}"
    if isinstance(verdict, Blocked):
        return Blocked(verdict.reason, message)
    return Waiting(verdict.reason, message, after=verdict.after)
