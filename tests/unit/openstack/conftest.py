from collections.abc import AsyncIterator

import pytest

from tests.support.openstack_peer import Peer, peer


@pytest.fixture
async def cloud() -> AsyncIterator[Peer]:
    """Keystone and all APIs."""
    async with peer() as found:
        yield found
