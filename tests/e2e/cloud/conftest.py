"""One lab with a whole cloud in it and a server `demo`, as `cobalt up` leaves it.

COBALT_E2E_LAB=NAME uses a lab that runs already (`cobalt up --audit`) instead of making one.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import GIVEN, Lab, given_or_own
from tests.support.samples import sampling


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose demo server has answered."""

    def up(own: Lab) -> None:
        with sampling(own, NAMESPACE, "lab") as seen:
            own.up("--audit", until="demo")
        _SAMPLES.extend(seen)

    with given_or_own(tmp_path_factory.mktemp("labs"), up) as found:
        yield found


@pytest.fixture(scope="session")
def cloud(lab: Lab) -> Cloud:
    """The cloud in it."""
    return Cloud(lab)


_FIGURES: list[str] = []
_SAMPLES: list[dict[str, Any]] = []


@pytest.fixture
def samples(lab: Lab) -> list[dict[str, Any]]:
    """Every status of the control plane while it came up."""
    if GIVEN in os.environ:
        pytest.skip("a lab that runs already came up before the tests began")
    return _SAMPLES


@pytest.fixture
def tell() -> Callable[[str], None]:
    """Say something that stands below the results of all tests."""
    return _FIGURES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Figures that tests have told."""
    for each in _FIGURES:
        terminalreporter.write_line(each)
