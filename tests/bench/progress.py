"""Progress on standard error."""

import sys
import time

_STARTED = time.perf_counter()


def report(what: str) -> None:
    """Print the current step with the seconds since the start."""
    print(f"{time.perf_counter() - _STARTED:6.1f} s  {what}", file=sys.stderr, flush=True)
