"""Refuse writes after a deadline: what a leader runs must not write once its lease may be another's.

A task is cancelled when the event loop runs; after a stop of the whole process (SIGSTOP, a paused
machine) it may run first. So the deadline is checked before every write, in the task that writes
and in all tasks and timers that it started.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cobaltcore.runtime import errors

_open: ContextVar[Callable[[], bool] | None] = ContextVar("fence", default=None)


@contextmanager
def writes_while(allowed: Callable[[], bool]) -> Iterator[None]:
    """Refuse writes within the block unless `allowed`."""
    token = _open.set(allowed)
    try:
        yield
    finally:
        _open.reset(token)


def check() -> None:
    """Raise LeaseExpired if this task must not write."""
    allowed = _open.get()
    if allowed is not None and not allowed():
        raise errors.LeaseExpired(
            "write refused: this replica's lease has expired, so another may be the leader",
            hint="the leader repeats it",
        )
