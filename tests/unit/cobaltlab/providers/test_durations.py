from datetime import timedelta

import pytest

from cobaltlab.providers import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h", 3600),
        ("1h0m0s", 3600),
        ("2h30m", 9000),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("10\N{MICRO SIGN}s", 1e-5),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_parse_reads_what_go_writes(text: str, seconds: float) -> None:
    assert durations.parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "1", "h", "1d", "-1h", "1h ", "1h30"])
def test_parse_refuses_anything_else(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        durations.parse(text)
