from collections.abc import AsyncIterator, Iterator

import pytest

from cobaltcore.runtime.client import Client
from cobaltlab import errors
from cobaltlab.providers import korc
from tests.support.control_plane import ControlPlaneHarness
from tests.support.identity import Identity, identity, provider
from tests.support.keystone import KeystoneHarness
from tests.support.providers import RunningProviders, install, running_providers
from tests.support.rights import as_provider


@pytest.fixture(scope="session")
def keystone() -> Iterator[KeystoneHarness]:
    """A real Keystone; every test uses names of its own in it."""
    reason = ""
    try:
        with KeystoneHarness() as running:
            yield running
    except errors.LabError as error:
        reason = f"{error.message}\n\nhint: {error.hint}"
    if reason:
        pytest.fail(f"no Keystone: {reason}", pytrace=False)


@pytest.fixture
async def user(
    client: Client, namespace: str, keystone: KeystoneHarness
) -> AsyncIterator[Identity]:
    """A user with an empty namespace in which K-ORC's kinds are served."""
    await install(client, korc.PROVIDER)
    async with identity(client, namespace, keystone) as found:
        yield found


@pytest.fixture
async def served(control_plane: ControlPlaneHarness, user: Identity) -> AsyncIterator[Identity]:
    """The same, with the provider running and the administrator's clouds.yaml in place."""
    await user.credentials()
    async with running_providers(as_provider(control_plane, "korc"), provider(user.namespace)):
        yield user


@pytest.fixture
async def running(
    control_plane: ControlPlaneHarness, user: Identity
) -> AsyncIterator[RunningProviders]:
    """The provider without anything to work on."""
    async with running_providers(
        as_provider(control_plane, "korc"), provider(user.namespace)
    ) as found:
        yield found
