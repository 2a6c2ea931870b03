"""A lab with a cloud and a server `demo`, as created by `cobalt up`.

COBALT_E2E_LAB=NAME uses a running lab (started with `cobalt up --audit`) instead of a new one.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import LAB_VARIABLE, Lab, existing_or_new
from tests.support.samples import sampling


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab after the step `demo`."""

    def up(own: Lab) -> None:
        with sampling(own, NAMESPACE, "lab") as seen:
            own.up("--audit", until="demo")
        _SAMPLES.extend(seen)

    with existing_or_new(tmp_path_factory.mktemp("labs"), up) as found:
        yield found


@pytest.fixture(scope="session")
def cloud(lab: Lab) -> Cloud:
    return Cloud(lab)


_FIGURES: list[str] = []
_SAMPLES: list[dict[str, Any]] = []


@pytest.fixture
def samples(lab: Lab) -> list[dict[str, Any]]:
    """Every status of the ControlPlane while it was deployed."""
    if LAB_VARIABLE in os.environ:
        pytest.skip("a running lab was deployed before the tests started")
    return _SAMPLES


@pytest.fixture
def report() -> Callable[[str], None]:
    """Print a figure after the results of all tests."""
    return _FIGURES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for each in _FIGURES:
        terminalreporter.write_line(each)
