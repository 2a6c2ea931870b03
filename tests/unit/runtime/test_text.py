"""Texts that are cut for their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.runtime.text import ending, shortened

SENTENCE = "Job 'nova-db' failed: unknown column in field list"


@pytest.mark.parametrize("limit", range(20, len(SENTENCE)))
def test_no_word_is_cut(limit: int) -> None:
    words = SENTENCE.replace(":", " ").split()
    for cut in (shortened(SENTENCE, limit), ending(SENTENCE, limit)):
        assert len(cut) <= limit
        assert set(cut.replace(":", " ").split()) - {"…"} <= set(words)


def test_what_fits_stays_as_it_is() -> None:
    assert shortened(SENTENCE, len(SENTENCE)) == ending(SENTENCE, len(SENTENCE)) == SENTENCE


@given(st.text(), st.integers(min_value=3, max_value=40))
def test_nothing_is_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit
    assert len(ending(text, limit)) <= limit
