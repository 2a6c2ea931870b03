"""Go durations: 1h, 2h30m, 1.5h, 500ms. Pure."""

import re
from datetime import timedelta

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "\N{MICRO SIGN}s": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = re.compile(rf"(\d+(?:\.\d*)?|\.\d+)({'|'.join(_UNITS)})")


def parse(text: str) -> timedelta:
    """Parse a duration that is not negative; raises ValueError."""
    if text == "0":
        return timedelta()
    parts = list(_PART.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        raise ValueError(f"{text!r} is not a duration such as 1h or 2h30m")
    return timedelta(seconds=sum(float(part[1]) * _UNITS[part[2]] for part in parts))
