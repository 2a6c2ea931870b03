"""Why a reconcile cannot finish: the type of the exception decides whether it is retried.

ReconcileError           retried with back-off, or after a set time
├── Waiting              a dependency is not ready; its change starts the next reconcile
└── Blocked              the user has to act; not retried until something changes
    └── InvalidSpec      nothing was ever applied for such a spec
Every other exception is a failure too: retried with back-off.
"""

from dataclasses import dataclass
from datetime import timedelta

from cobaltcore.runtime import errors

RECONCILE_FAILED = "ReconcileFailed"


class ReconcileError(errors.RuntimeFault):
    """A failure with the reason of its condition and the time of the next attempt."""

    reason = ""
    """Empty: the reason that the kind has for failures."""

    def __init__(
        self, message: str, hint: str = "", *, reason: str = "", after: timedelta | None = None
    ) -> None:
        super().__init__(message, hint)
        self.reason = reason or self.reason
        self.after = after


class Waiting(ReconcileError):
    """A dependency is not ready; `after` is for dependencies that cannot be watched."""


class Blocked(ReconcileError):
    """The user has to act."""


class InvalidSpec(Blocked):
    """The spec has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What conditions and events report about an exception."""

    error: Exception
    message: str
    reason: str = ""
    """Empty: the reason that the kind has for failures."""

    @property
    def is_waiting(self) -> bool:
        return isinstance(self.error, Waiting)

    @property
    def is_blocked(self) -> bool:
        return isinstance(self.error, Blocked)


def describe(error: Exception) -> Failure:
    """Name the cause and the remedy."""
    if isinstance(error, errors.RuntimeFault):
        message = f"{error.message}: {error.hint}" if error.hint else error.message
        reason = error.reason if isinstance(error, ReconcileError) else ""
        return Failure(error, message, reason)
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"unexpected {cause}: retried with back-off; the log of `cobalt providers` has the traceback"
    return Failure(error, message, RECONCILE_FAILED)
