"""The lines of log files that tell people why something failed."""

import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path

LINES = 8
WIDTH = 300

# klog's E and F lines, logfmt and JSON levels, Python tracebacks, and plain words.
_TROUBLE = re.compile(
    r'^[EF]\d{4} |level=(error|fatal)|"level":"(error|fatal|panic)"'
    r"|\b(?i:error|panic|fatal|failed|cannot|refused|denied)\b"
)


def relevant(path: Path, *, lines: int = LINES) -> list[str]:
    """The last lines that speak of trouble, or else the last lines."""
    if not path.exists():
        return []
    last: deque[str] = deque(maxlen=lines)
    trouble: deque[str] = deque(maxlen=lines)
    with path.open(errors="replace") as file:
        for line in file:
            last.append(line.rstrip()[:WIDTH])
            if _TROUBLE.search(line):
                trouble.append(line.rstrip()[:WIDTH])
    return list(trouble or last)


def excerpt(paths: Iterable[Path]) -> str:
    """Log files with their relevant lines, for the end of an error message."""
    parts = []
    for path in paths:
        found = relevant(path)
        if found:
            parts.append("\n".join([f"{path}:", *(f"  {line}" for line in found)]))
    return "\n".join(parts)
