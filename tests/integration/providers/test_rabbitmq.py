"""RabbitmqCluster and its topology on played nodes, with a real broker behind the Service."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE, STATEFUL_SET
from cobaltcore.api.foreign.rabbitmq import CLUSTER, PERMISSION, POLICY, USER, VHOST
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from tests.integration.providers import rabbitmq_objects as objects
from tests.integration.providers.mariadb_objects import a_secret
from tests.support import played_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import FaultTransport
from tests.support.operating import eventually, read
from tests.support.providing import Providing, condition, content, install, message, providing
from tests.support.rabbitmq import RabbitMQHarness
from tests.support.rights import as_provider

KINDS = (POLICY, PERMISSION, USER, VHOST, CLUSTER)
MADE = ("True", "SuccessfulCreateOrUpdate")


@pytest.fixture
async def wire(
    played_control_plane: ControlPlaneHarness,
    played_client: Client,
    rabbitmq_server: RabbitMQHarness,
) -> FaultTransport:
    """The provider's connection, which counts its requests."""
    await install(played_client, objects.provided(rabbitmq_server))
    return FaultTransport(as_provider(played_control_plane, "provider"))


@pytest.fixture
async def running(
    wire: FaultTransport, rabbitmq_server: RabbitMQHarness
) -> AsyncIterator[Providing]:
    async with providing(wire, objects.provided(rabbitmq_server)) as found:
        yield found


@pytest.fixture
async def namespace(
    played_control_plane: ControlPlaneHarness, played_client: Client, running: Providing
) -> AsyncIterator[str]:
    """A namespace with a volume for the broker; its objects are gone afterwards."""
    name = played_control_plane.create_namespace("rabbitmq")
    await played_volumes.bind(played_client, Key(name, objects.CLAIM))
    yield name
    for kind in KINDS:
        for key in (Key(name, "nova"), Key(name, "mq")):
            if await read(played_client, kind, key):
                await played_client.delete(kind, key)
                await _is_gone(played_client, kind, key)


async def _is_gone(client: Client, kind: Kind, key: Key) -> None:
    async def check() -> bool:
        return await read(client, kind, key) is None

    await eventually(check, f"{kind.kind} {key} is gone")


async def _tells(
    client: Client, kind: Kind, key: Key, expected: tuple[str, str], type_: str = "Ready"
) -> None:
    async def check() -> bool:
        return await condition(client, kind, key, type_) == expected

    await eventually(check, f"{kind.kind} {key} tells {expected}")


async def _served(client: Client, namespace: str, broker: RabbitMQHarness) -> None:
    """A broker with everything on it; the account is made up."""
    login = {"username": broker.username, "password": broker.password}
    await client.create(SECRET, a_secret(namespace, "mq-default-user", **login))
    await client.create(CLUSTER, objects.a_cluster(namespace))
    await client.create(VHOST, objects.a_vhost(namespace, namespace))
    await client.create(USER, objects.a_user(namespace))
    await client.create(PERMISSION, objects.a_permission(namespace, namespace))
    await client.create(POLICY, objects.a_policy(namespace, namespace))
    for kind in (VHOST, USER, PERMISSION, POLICY):
        await _tells(client, kind, Key(namespace, "nova"), MADE)


async def test_a_broker_has_the_real_operators_names(
    played_client: Client, namespace: str
) -> None:
    key = Key(namespace, "mq")
    await played_client.create(CLUSTER, objects.a_cluster(namespace))
    for type_, reason in (
        ("AllReplicasReady", "AllPodsAreReady"),
        ("ClusterAvailable", "AtLeastOneEndpointAvailable"),
        ("NoWarnings", "NoWarnings"),
        ("ReconcileSuccess", "Success"),
    ):
        await _tells(played_client, CLUSTER, key, ("True", reason), type_)
    login = await content(played_client, Key(namespace, "mq-default-user"))
    assert login is not None
    host = f"mq.{namespace}.svc"
    username, password = login["username"], login["password"]
    assert login["connection_string"] == f"amqp://{username}:{password}@{host}:5672/"
    assert (login["host"], login["port"], login["type"]) == (host, "5672", "rabbitmq")
    assert login["provider"] == "rabbitmq"
    assert f"default_pass = {password}" in login["default_user.conf"]
    service = await played_client.get(SERVICE, key)
    assert {each["port"] for each in service["spec"]["ports"]} == {5672, 15672}
    nodes = await played_client.get(SERVICE, Key(namespace, "mq-nodes"))
    assert nodes["spec"]["clusterIP"] == "None"
    stateful_set = await played_client.get(STATEFUL_SET, Key(namespace, "mq-server"))
    assert password not in str(stateful_set)
    status = (await played_client.get(CLUSTER, key))["status"]
    assert status["defaultUser"]["secretReference"]["name"] == "mq-default-user"
    assert status["binding"] == {"name": "mq-default-user"}
    assert not any("observedGeneration" in each for each in status["conditions"])


async def test_a_made_up_account_may_do_what_its_permission_says(
    played_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _served(played_client, namespace, rabbitmq_server)
    login = await content(played_client, Key(namespace, "nova-user-credentials"))
    assert login is not None
    status = (await played_client.get(USER, Key(namespace, "nova")))["status"]
    assert status["credentials"] == {"name": "nova-user-credentials"}
    assert status["username"] == login["username"]
    assert await asyncio.to_thread(rabbitmq_server.lets_in, login["username"], login["password"])
    rights = await asyncio.to_thread(
        rabbitmq_server.get, "permissions", namespace, login["username"]
    )
    assert rights["configure"] == ".*"
    policy = await asyncio.to_thread(rabbitmq_server.get, "policies", namespace, "short")
    assert policy["definition"] == {"message-ttl": 60000}


async def test_an_imported_account_follows_its_secret(
    played_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _served(played_client, namespace, rabbitmq_server)
    made_up = await content(played_client, Key(namespace, "nova-user-credentials"))
    assert made_up is not None
    imported = a_secret(namespace, "given", username=f"{namespace}-user", password="first")
    await played_client.create(SECRET, imported)
    patch = {"spec": {"importCredentialsSecret": {"name": "given"}}}
    await played_client.patch(USER, Key(namespace, "nova"), patch)

    def entered(password: str) -> bool:
        return rabbitmq_server.lets_in(f"{namespace}-user", password)

    await eventually(lambda: asyncio.to_thread(entered, "first"), "the account is imported")

    async def moved() -> bool:
        rights = await asyncio.to_thread(
            rabbitmq_server.get, "permissions", namespace, f"{namespace}-user"
        )
        earlier = await asyncio.to_thread(rabbitmq_server.get, "users", made_up["username"])
        return rights is not None and earlier is None

    await eventually(moved, "the rights moved and the earlier account is gone")
    odd = "'\"\\ \N{SNOWMAN}"
    data = {"password": base64.b64encode(odd.encode()).decode()}
    await played_client.patch(SECRET, Key(namespace, "given"), {"data": data})
    await eventually(lambda: asyncio.to_thread(entered, odd), "the new password holds")


async def test_a_retained_name_space_stays(
    played_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _served(played_client, namespace, rabbitmq_server)
    key = Key(namespace, "nova")
    await played_client.patch(VHOST, key, {"spec": {"deletionPolicy": "retain"}})
    await played_client.delete(VHOST, key)
    await _is_gone(played_client, VHOST, key)
    assert await asyncio.to_thread(rabbitmq_server.get, "vhosts", namespace) is not None


async def test_objects_of_other_namespaces_need_leave(
    played_control_plane: ControlPlaneHarness,
    played_client: Client,
    namespace: str,
    rabbitmq_server: RabbitMQHarness,
) -> None:
    await _served(played_client, namespace, rabbitmq_server)
    other = played_control_plane.create_namespace("guest")
    reference = {"name": "mq", "namespace": namespace}
    guest = objects.a_vhost(other, other, rabbitmqClusterReference=reference)
    await played_client.create(VHOST, guest)
    key = Key(other, "nova")
    await _tells(played_client, VHOST, key, ("False", "FailedCreateOrUpdate"))
    assert "topology-allowed-namespaces" in await message(played_client, VHOST, key)
    annotations = {"rabbitmq.com/topology-allowed-namespaces": other}
    patch = {"metadata": {"annotations": annotations}}
    await played_client.patch(CLUSTER, Key(namespace, "mq"), patch)
    await _tells(played_client, VHOST, key, MADE)
    await played_client.delete(VHOST, key)
    await _is_gone(played_client, VHOST, key)


async def test_a_converged_pass_makes_no_request(
    played_client: Client,
    namespace: str,
    running: Providing,
    wire: FaultTransport,
    rabbitmq_server: RabbitMQHarness,
) -> None:
    await _served(played_client, namespace, rabbitmq_server)
    await eventually(running.rests, "at rest")
    before = len(wire.calls)
    running.controller("rabbitmq").queue.add(Key(namespace, "mq"))
    for kind in ("vhost", "user", "permission", "policy"):
        running.controller(f"rabbitmqcluster-{kind}").queue.add(Key(namespace, "nova"))
    await eventually(running.rests, "at rest again")
    assert wire.calls[before:] == []
