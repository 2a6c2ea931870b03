"""One lab with a whole cloud in it and a server `demo`, as `cobalt up` leaves it."""

from collections.abc import Iterator

import pytest

from tests.support.lab import Lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose demo server has answered."""
    found = Lab(tmp_path_factory.mktemp("labs"))
    try:
        found.up(until="demo")
        yield found
    finally:
        found.remove()
