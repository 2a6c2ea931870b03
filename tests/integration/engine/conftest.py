from collections.abc import AsyncIterator

import pytest

from cobaltcore.api import crd
from cobaltcore.runtime.client import Client
from tests.support import services
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import transport


@pytest.fixture(scope="session")
def plane(simulated_control_plane: ControlPlaneHarness) -> ControlPlaneHarness:
    """Simulated nodes with our kinds and those of third parties."""
    simulated_control_plane.install_crds([*crd.manifests(), *services.foreign_crds()])
    return simulated_control_plane


@pytest.fixture
async def client(plane: ControlPlaneHarness) -> AsyncIterator[Client]:
    """The test's own view."""
    client = Client(transport(plane, "test-observer"))
    yield client
    await client.close()


@pytest.fixture
def space(plane: ControlPlaneHarness) -> str:
    """A namespace for this test alone."""
    return plane.create_namespace("engine")
