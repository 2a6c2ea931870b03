"""The result of a reconcile as K-ORC's two conditions. Pure: no I/O."""

from typing import NamedTuple

from cobaltcore.runtime.meta import Condition, ConditionStatus
from cobaltlab.providers.failures import Failure

AVAILABLE = "Available"
PROGRESSING = "Progressing"
SUCCESS = "Success"
TRANSIENT_ERROR = "TransientError"
INVALID_CONFIGURATION = "InvalidConfiguration"
UNRECOVERABLE_ERROR = "UnrecoverableError"
TERMINAL_REASONS = (INVALID_CONFIGURATION, UNRECOVERABLE_ERROR)


class Verdict(NamedTuple):
    """Whether further reconciles follow, and why."""

    progressing: bool
    reason: str
    message: str


DONE = Verdict(progressing=False, reason=SUCCESS, message="OpenStack resource is up to date")


def of_failure(failure: Failure) -> Verdict:
    """Terminal errors end the progress, everything else is retried."""
    if failure.is_waiting:
        return Verdict(progressing=True, reason=PROGRESSING, message=failure.message)
    if failure.reason in TERMINAL_REASONS:
        return Verdict(progressing=False, reason=failure.reason, message=failure.message)
    return Verdict(progressing=True, reason=TRANSIENT_ERROR, message=failure.message)


def conditions(verdict: Verdict, available: ConditionStatus) -> list[Condition]:
    """Both conditions; an unavailable resource has the same reason in both."""
    is_available = available == "True"
    return [
        Condition(
            type=AVAILABLE,
            status=available,
            reason=SUCCESS if is_available else verdict.reason,
            message="OpenStack resource is available" if is_available else verdict.message,
        ),
        Condition(
            type=PROGRESSING,
            status="True" if verdict.progressing else "False",
            reason=verdict.reason,
            message=verdict.message,
        ),
    ]
