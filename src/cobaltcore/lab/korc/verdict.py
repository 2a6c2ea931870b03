"""How a pass ends, and the two conditions that tell it. Pure: no I/O."""

from datetime import timedelta
from typing import NamedTuple

from cobaltcore.runtime.meta import Condition, ConditionStatus

AVAILABLE = "Available"
PROGRESSING = "Progressing"
SUCCESS = "Success"
TRANSIENT_ERROR = "TransientError"
INVALID_CONFIGURATION = "InvalidConfiguration"
UNRECOVERABLE_ERROR = "UnrecoverableError"


class Waiting(Exception):
    """Something else has to happen first; `after` is set when nobody tells us that it did."""

    def __init__(self, *messages: str, after: timedelta | None = None) -> None:
        super().__init__("; ".join(messages))
        self.after = after


class Terminal(Exception):
    """Trying again is pointless until a person changes the object."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Verdict(NamedTuple):
    """What is told about an object."""

    progressing: bool
    reason: str
    message: str


DONE = Verdict(progressing=False, reason=SUCCESS, message="OpenStack resource is up to date")


def waiting(message: str) -> Verdict:
    """More passes will follow."""
    return Verdict(progressing=True, reason=PROGRESSING, message=message)


def transient(message: str) -> Verdict:
    """It failed and is tried again."""
    return Verdict(progressing=True, reason=TRANSIENT_ERROR, message=message)


def terminal(error: Terminal) -> Verdict:
    """It failed and is not tried again."""
    return Verdict(progressing=False, reason=error.reason, message=str(error))


def conditions(verdict: Verdict, available: ConditionStatus) -> list[Condition]:
    """The conditions; what is not available gives the same reasons in both."""
    seen = available == "True"
    return [
        Condition(
            type=AVAILABLE,
            status=available,
            reason=SUCCESS if seen else verdict.reason,
            message="OpenStack resource is available" if seen else verdict.message,
        ),
        Condition(
            type=PROGRESSING,
            status="True" if verdict.progressing else "False",
            reason=verdict.reason,
            message=verdict.message,
        ),
    ]
