"""One lab after the step `operators`, for all tests here."""

from collections.abc import Iterator

import pytest

from tests.support.lab import Lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running lab with the images of this source tree."""
    found = Lab(tmp_path_factory.mktemp("labs"))
    try:
        found.up(until="operators")
        yield found
    finally:
        found.remove()
