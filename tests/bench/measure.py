"""How benches take figures: a clock, a look at memory, a lab of their own."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import progress
from tests.support.lab import Lab


def seconds(*steps: Callable[[], object]) -> float:
    """How long steps take, one after the other."""
    began = time.monotonic()
    for step in steps:
        step()
    return round(time.monotonic() - began, 1)


def mebibytes(pids: Iterable[int]) -> float:
    """What processes take for themselves, and their parts of what they share; ended ones nothing."""
    return sum(map(_pss_kibibytes, pids)) / 1024


def is_root() -> bool:
    """Whether this process may start labs and build images; prints a message if not."""
    if os.geteuid():
        progress.report("left out: needs root")
    return not os.geteuid()


@contextmanager
def lab() -> Iterator[Lab]:
    """A lab that is not started yet, and is purged at the end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        found = Lab(Path(directory))
        try:
            yield found
        finally:
            found.remove()


def _pss_kibibytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
