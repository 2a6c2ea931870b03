"""A webhook server that issues and renews its own certificate, called by a real API server."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from cobaltcore.deploy import rbac as deploy_rbac
from cobaltcore.runtime import certificates, webhook_identity
from cobaltcore.runtime.admission import AdmissionRequest, Webhooks
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.webhook_objects import MUTATING, VALIDATING
from cobaltcore.runtime.webhook_service import CLUSTER_ROLE, Registration, WebhookService
from cobaltlab.platform import rbac
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually
from tests.support.rights import as_operator

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
NAME = "cobalt"
SECRET_NAME = f"{NAME}-webhooks"
OWNER = deploy_rbac.webhook_role_name(NAME)


class ShiftedClock(SystemClock):
    """The system's clock, but for the date."""

    def __init__(self, shift: timedelta) -> None:
        self.shift = shift

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift


async def mark(request: AdmissionRequest) -> Object:
    assert request.object is not None
    request.object["data"] = {**(request.object.get("data") or {}), "marked": "yes"}
    return request.object


@pytest.fixture
async def operator(control_plane: ControlPlaneHarness) -> AsyncIterator[Client]:
    """With the rights that operators have, and no more."""
    own = Client(as_operator(control_plane, "webhook-service"))
    yield own
    await own.close()


@asynccontextmanager
async def serving(
    operator: Client, port: int, *, clock: SystemClock | None = None
) -> AsyncIterator[WebhookService]:
    webhooks = Webhooks()
    webhooks.defaulting(CONFIG_MAP, mark)
    secret = Key(rbac.NAMESPACE, SECRET_NAME)
    registration = Registration(
        NAME, f"https://127.0.0.1:{port}", ["127.0.0.1"], secret, owner=OWNER
    )
    service = WebhookService(operator, webhooks, registration, port=port, clock=clock)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


@pytest.fixture
async def cleanly(client: Client) -> AsyncIterator[None]:
    yield
    await client.delete(MUTATING, Key("", NAME))
    await client.delete(SECRET, Key(rbac.NAMESPACE, SECRET_NAME))


@pytest.fixture
def port() -> int:
    return _free_port()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def a_config_map(namespace: str, name: str) -> Object:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def _is_marked(client: Client, namespace: str) -> bool:
    created = await client.apply(
        CONFIG_MAP, a_config_map(namespace, "probe"), manager="test", dry_run=True
    )
    return bool((created.get("data") or {}).get("marked"))


async def _shown(port: int) -> bytes:
    """The certificate that a new connection is shown."""
    text = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return text.encode()


@pytest.mark.usefixtures("cleanly")
async def test_the_api_server_asks_without_anybody_giving_a_certificate(
    client: Client, operator: Client, namespace: str, port: int
) -> None:
    async with serving(operator, port):
        await eventually(lambda: _is_marked(client, namespace), "the webhook is asked")
    kept = await client.get(SECRET, Key(rbac.NAMESPACE, SECRET_NAME))
    configuration = await client.get(MUTATING, Key("", NAME))
    assert webhook_identity.from_secret(kept) is not None
    assert "PRIVATE KEY" not in str(configuration)
    async with serving(operator, port):
        again = await client.get(SECRET, Key(rbac.NAMESPACE, SECRET_NAME))
        assert again["data"] == kept["data"]


@pytest.mark.usefixtures("cleanly")
async def test_the_registration_is_removed_with_the_rights_to_it(
    client: Client, operator: Client, port: int
) -> None:
    async with serving(operator, port):
        configuration = await client.get(MUTATING, Key("", NAME))
    role = await client.get(CLUSTER_ROLE, Key("", OWNER))
    (owner,) = configuration["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ClusterRole", role["metadata"]["uid"])


@pytest.mark.usefixtures("cleanly")
async def test_the_certificate_is_renewed_in_time_and_connections_see_the_new_one(
    client: Client, operator: Client, namespace: str, port: int
) -> None:
    clock = ShiftedClock(timedelta(days=-61))
    async with serving(operator, port, clock=clock) as service:
        old = await _shown(port)
        await service.renew()
        assert await _shown(port) == old
        clock.shift = timedelta()
        await service.renew()
        new = await _shown(port)
        assert certificates.validity(new)[1] > certificates.validity(old)[1]
        await eventually(lambda: _is_marked(client, namespace), "the API server accepts it")


@pytest.mark.usefixtures("cleanly")
async def test_a_renewed_authority_locks_nobody_out(
    client: Client, operator: Client, namespace: str, port: int
) -> None:
    clock = ShiftedClock(timedelta(days=-2500))
    async with serving(operator, port, clock=clock) as service:
        old = (await client.get(SECRET, Key(rbac.NAMESPACE, SECRET_NAME)))["data"]["ca.crt"]
        clock.shift = timedelta()
        await service.renew()
        new = (await client.get(SECRET, Key(rbac.NAMESPACE, SECRET_NAME)))["data"]["ca.crt"]
        assert new != old
        await eventually(lambda: _is_marked(client, namespace), "the API server trusts it")


@pytest.mark.usefixtures("cleanly")
async def test_replicas_share_one_certificate(operator: Client, port: int) -> None:
    other = _free_port()
    async with serving(operator, port), serving(operator, other):
        assert await _shown(port) == await _shown(other)


@pytest.mark.usefixtures("cleanly")
async def test_a_registration_that_was_removed_comes_back(
    client: Client, operator: Client, namespace: str, port: int
) -> None:
    async with serving(operator, port) as service:
        await client.delete(MUTATING, Key("", NAME))
        await service.renew()
        await eventually(lambda: _is_marked(client, namespace), "the webhook is asked again")
        async for found, _ in client.list_pages(VALIDATING):
            assert NAME not in {each["metadata"]["name"] for each in found}
