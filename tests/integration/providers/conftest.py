from collections.abc import AsyncIterator, Iterator

import pytest

from cobaltcore.runtime.client import Client
from tests.support.control_plane import ControlPlaneHarness
from tests.support.mariadb import MariaDBHarness
from tests.support.operating import transport
from tests.support.rabbitmq import RabbitMQHarness


@pytest.fixture
async def client(control_plane: ControlPlaneHarness) -> AsyncIterator[Client]:
    """The test's own view of the cluster, apart from what it tests."""
    client = Client(transport(control_plane, "test-observer"))
    yield client
    await client.close()


@pytest.fixture
async def simulated_client(simulated_control_plane: ControlPlaneHarness) -> AsyncIterator[Client]:
    """The same of the cluster with nodes."""
    client = Client(transport(simulated_control_plane, "test-observer"))
    yield client
    await client.close()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBHarness]:
    """A real server on loopback; its databases are report apart by name."""
    with MariaDBHarness() as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[RabbitMQHarness]:
    """A real broker on loopback; what it keeps is report apart by name."""
    with RabbitMQHarness() as broker:
        yield broker
