from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.runtime import errors, stream

LINE = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'


async def pieces(data: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        yield data[start:end]


@given(st.lists(st.integers(min_value=0), max_size=8))
async def test_events_come_whole_however_the_bytes_are_cut(cuts: list[int]) -> None:
    names = [e.object["metadata"]["name"] async for e in stream.events(pieces(LINE * 3, cuts))]
    assert names == ["a", "a", "a"]


async def test_a_half_event_at_the_end_of_a_cut_connection_is_dropped() -> None:
    found = [event async for event in stream.events(pieces(LINE + LINE[:20], []))]
    assert len(found) == 1


async def test_an_error_event_is_raised_as_what_it_is() -> None:
    data = b'{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n'
    with pytest.raises(errors.Gone, match="too old"):
        [event async for event in stream.events(pieces(data, []))]
