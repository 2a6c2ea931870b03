"""A lab with a cloud whose nodes enforce NetworkPolicies.

COBALT_E2E_LAB=NAME uses a running lab (started with `cobalt up --network-policies`) instead of a new one.
"""

from collections.abc import Iterator

import pytest

from tests.support.cloud import Cloud
from tests.support.lab import Lab, existing_or_new


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab after the step `demo`: that a server answers proves the calls of the graph."""

    def up(own: Lab) -> None:
        own.up("--network-policies", until="demo")

    with existing_or_new(tmp_path_factory.mktemp("labs"), up) as found:
        yield found


@pytest.fixture(scope="session")
def cloud(lab: Lab) -> Cloud:
    return Cloud(lab)
