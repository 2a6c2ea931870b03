"""One lab with a whole cloud in it and a server `demo`, as `cobalt up` leaves it.

COBALT_E2E_LAB=NAME uses a lab that runs already (`cobalt up --audit`) instead of making one.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cobaltcore.lab import home
from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import Lab
from tests.support.samples import sampling

GIVEN_LAB = "COBALT_E2E_LAB"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose demo server has answered."""
    if name := os.environ.get(GIVEN_LAB):
        yield Lab(home.root(os.environ), name)
        return
    found = Lab(tmp_path_factory.mktemp("labs"))
    try:
        with sampling(found, NAMESPACE, "lab") as seen:
            found.up("--audit", until="demo")
        _SAMPLES.extend(seen)
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="session")
def cloud(lab: Lab) -> Cloud:
    """The cloud in it."""
    return Cloud(lab)


_FIGURES: list[str] = []
_SAMPLES: list[dict[str, Any]] = []


@pytest.fixture
def samples(lab: Lab) -> list[dict[str, Any]]:
    """Every status of the control plane while it came up."""
    if GIVEN_LAB in os.environ:
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
