from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.runtime import errors, stream

LINE = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'


def events(*pieces: bytes) -> list[stream.WatchEvent]:
    found = stream.Events()
    return [event for piece in pieces for event in found.of(piece)]


@given(st.lists(st.integers(min_value=0), max_size=8))
def test_events_come_whole_however_the_bytes_are_cut(cuts: list[int]) -> None:
    data = LINE * 3
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    found = events(*(data[start:end] for start, end in pairwise(places)))
    objects = [msgspec.json.decode(event.object) for event in found]
    assert objects == [{"metadata": {"name": "a"}}] * 3


def test_a_half_event_at_the_end_of_a_cut_connection_is_dropped() -> None:
    assert len(events(LINE + LINE[:20])) == 1


def test_an_error_event_is_raised_as_what_it_is() -> None:
    data = b'{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n'
    with pytest.raises(errors.Gone, match="too old"):
        events(data)
