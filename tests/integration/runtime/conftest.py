from collections.abc import AsyncIterator

import pytest

from cobaltcore.runtime.client import Client
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import transport


@pytest.fixture
async def client(control_plane: ControlPlaneHarness) -> AsyncIterator[Client]:
    """The test's own view of the cluster, apart from what it tests."""
    client = Client(transport(control_plane, "test-observer"))
    yield client
    await client.close()


@pytest.fixture(scope="session")
def ledger(control_plane: ControlPlaneHarness, sample_kind: None) -> str:
    """A namespace for children that are not owned."""
    return control_plane.create_namespace("ledger")
