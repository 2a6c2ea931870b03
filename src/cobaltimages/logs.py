"""Lines of log files that explain a failure."""

import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path

LINES = 8
WIDTH = 300

# klog's E and F lines, logfmt and JSON levels, Python tracebacks, and plain words.
_ERROR = re.compile(
    r'^[EF]\d{4} |level=(error|fatal)|"level":"(error|fatal|panic)"'
    r"|\b(?i:error|panic|fatal|failed|cannot|refused|denied)\b"
)


def relevant(path: Path, *, lines: int = LINES) -> list[str]:
    """The last lines with an error, or else the last lines."""
    if not path.exists():
        return []
    last: deque[str] = deque(maxlen=lines)
    matching: deque[str] = deque(maxlen=lines)
    with path.open(errors="replace") as file:
        for line in file:
            last.append(line.rstrip()[:WIDTH])
            if _ERROR.search(line):
                matching.append(line.rstrip()[:WIDTH])
    return list(matching or last)


def excerpt(paths: Iterable[Path]) -> str:
    """Log files with their relevant lines, for the end of an error message."""
    parts = []
    for path in paths:
        found = relevant(path)
        if found:
            parts.append("\n".join([f"{path}:", *(f"  {line}" for line in found)]))
    return "\n".join(parts)
