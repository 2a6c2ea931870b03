"""Waiting: the only place where agents do it."""

import time
from collections.abc import Callable
from typing import NoReturn


def wait_until(
    condition: Callable[[], bool], *, interval: float, timeout: float | None = None
) -> bool:
    """Look every `interval` seconds whether a condition holds; False after `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not condition():
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(interval)  # noqa: TID251 the one helper that sleeps
    return True


def repeat(action: Callable[[], object], *, interval: float) -> NoReturn:
    """Do something again and again, with a pause of `interval` seconds in between."""
    while True:
        action()
        time.sleep(interval)  # noqa: TID251 the one helper that sleeps
