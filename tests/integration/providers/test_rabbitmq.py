"""RabbitmqCluster and its topology on simulated nodes, with a real broker behind the Service."""

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
from tests.support import simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import FaultTransport
from tests.support.operating import eventually, read
from tests.support.providers import (
    RunningProviders,
    condition,
    content,
    install,
    message,
    running_providers,
)
from tests.support.rabbitmq import RabbitMQHarness
from tests.support.rights import as_provider

KINDS = (POLICY, PERMISSION, USER, VHOST, CLUSTER)
CREATED = ("True", "SuccessfulCreateOrUpdate")


@pytest.fixture
async def fault_transport(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    rabbitmq_server: RabbitMQHarness,
) -> FaultTransport:
    """The provider's connection, which counts its requests."""
    await install(simulated_client, objects.provided(rabbitmq_server))
    return FaultTransport(as_provider(simulated_control_plane, "provider"))


@pytest.fixture
async def running(
    fault_transport: FaultTransport, rabbitmq_server: RabbitMQHarness
) -> AsyncIterator[RunningProviders]:
    async with running_providers(fault_transport, objects.provided(rabbitmq_server)) as found:
        yield found


@pytest.fixture
async def namespace(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    running: RunningProviders,
) -> AsyncIterator[str]:
    """A namespace with a volume for the broker; its objects are deleted afterwards."""
    name = simulated_control_plane.create_namespace("rabbitmq")
    await simulated_volumes.bind(simulated_client, Key(name, objects.CLAIM))
    yield name
    for kind in KINDS:
        for key in (Key(name, "nova"), Key(name, "mq")):
            if await read(simulated_client, kind, key):
                await simulated_client.delete(kind, key)
                await _is_gone(simulated_client, kind, key)


async def _is_gone(client: Client, kind: Kind, key: Key) -> None:
    async def check() -> bool:
        return await read(client, kind, key) is None

    await eventually(check, f"{kind.kind} {key} is gone")


async def _wait_for_condition(
    client: Client, kind: Kind, key: Key, expected: tuple[str, str], type_: str = "Ready"
) -> None:
    async def check() -> bool:
        return await condition(client, kind, key, type_) == expected

    await eventually(check, f"{kind.kind} {key} reports {expected}")


async def _provisioned(client: Client, namespace: str, broker: RabbitMQHarness) -> None:
    """A broker with all topology objects; the account is generated."""
    login = {"username": broker.username, "password": broker.password}
    await client.create(SECRET, a_secret(namespace, "mq-default-user", **login))
    await client.create(CLUSTER, objects.a_cluster(namespace))
    await client.create(VHOST, objects.a_vhost(namespace, namespace))
    await client.create(USER, objects.a_user(namespace))
    await client.create(PERMISSION, objects.a_permission(namespace, namespace))
    await client.create(POLICY, objects.a_policy(namespace, namespace))
    for kind in (VHOST, USER, PERMISSION, POLICY):
        await _wait_for_condition(client, kind, Key(namespace, "nova"), CREATED)


async def test_a_broker_has_the_real_operators_names(
    simulated_client: Client, namespace: str
) -> None:
    key = Key(namespace, "mq")
    await simulated_client.create(CLUSTER, objects.a_cluster(namespace))
    for type_, reason in (
        ("AllReplicasReady", "AllPodsAreReady"),
        ("ClusterAvailable", "AtLeastOneEndpointAvailable"),
        ("NoWarnings", "NoWarnings"),
        ("ReconcileSuccess", "Success"),
    ):
        await _wait_for_condition(simulated_client, CLUSTER, key, ("True", reason), type_)
    login = await content(simulated_client, Key(namespace, "mq-default-user"))
    assert login is not None
    host = f"mq.{namespace}.svc"
    username, password = login["username"], login["password"]
    assert login["connection_string"] == f"amqp://{username}:{password}@{host}:5672/"
    assert (login["host"], login["port"], login["type"]) == (host, "5672", "rabbitmq")
    assert login["provider"] == "rabbitmq"
    assert f"default_pass = {password}" in login["default_user.conf"]
    service = await simulated_client.get(SERVICE, key)
    assert {each["port"] for each in service["spec"]["ports"]} == {5672, 15672}
    nodes = await simulated_client.get(SERVICE, Key(namespace, "mq-nodes"))
    assert nodes["spec"]["clusterIP"] == "None"
    stateful_set = await simulated_client.get(STATEFUL_SET, Key(namespace, "mq-server"))
    assert password not in str(stateful_set)
    status = (await simulated_client.get(CLUSTER, key))["status"]
    assert status["defaultUser"]["secretReference"]["name"] == "mq-default-user"
    assert status["binding"] == {"name": "mq-default-user"}
    assert not any("observedGeneration" in each for each in status["conditions"])


async def test_a_generated_account_has_its_permissions(
    simulated_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _provisioned(simulated_client, namespace, rabbitmq_server)
    login = await content(simulated_client, Key(namespace, "nova-user-credentials"))
    assert login is not None
    status = (await simulated_client.get(USER, Key(namespace, "nova")))["status"]
    assert status["credentials"] == {"name": "nova-user-credentials"}
    assert status["username"] == login["username"]
    assert await asyncio.to_thread(
        rabbitmq_server.accepts_login, login["username"], login["password"]
    )
    rights = await asyncio.to_thread(
        rabbitmq_server.get, "permissions", namespace, login["username"]
    )
    assert rights["configure"] == ".*"
    policy = await asyncio.to_thread(rabbitmq_server.get, "policies", namespace, "short")
    assert policy["definition"] == {"message-ttl": 60000}


async def test_an_imported_account_follows_its_secret(
    simulated_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _provisioned(simulated_client, namespace, rabbitmq_server)
    generated = await content(simulated_client, Key(namespace, "nova-user-credentials"))
    assert generated is not None
    imported = a_secret(namespace, "imported", username=f"{namespace}-user", password="first")
    await simulated_client.create(SECRET, imported)
    patch = {"spec": {"importCredentialsSecret": {"name": "imported"}}}
    await simulated_client.patch(USER, Key(namespace, "nova"), patch)

    def entered(password: str) -> bool:
        return rabbitmq_server.accepts_login(f"{namespace}-user", password)

    await eventually(lambda: asyncio.to_thread(entered, "first"), "the account is imported")

    async def moved() -> bool:
        rights = await asyncio.to_thread(
            rabbitmq_server.get, "permissions", namespace, f"{namespace}-user"
        )
        earlier = await asyncio.to_thread(rabbitmq_server.get, "users", generated["username"])
        return rights is not None and earlier is None

    await eventually(moved, "the rights moved and the previous account is deleted")
    odd = "'\"\\ \N{SNOWMAN}"
    data = {"password": base64.b64encode(odd.encode()).decode()}
    await simulated_client.patch(SECRET, Key(namespace, "imported"), {"data": data})
    await eventually(lambda: asyncio.to_thread(entered, odd), "the new password holds")


async def test_a_retained_vhost_stays(
    simulated_client: Client, namespace: str, rabbitmq_server: RabbitMQHarness
) -> None:
    await _provisioned(simulated_client, namespace, rabbitmq_server)
    key = Key(namespace, "nova")
    await simulated_client.patch(VHOST, key, {"spec": {"deletionPolicy": "retain"}})
    await simulated_client.delete(VHOST, key)
    await _is_gone(simulated_client, VHOST, key)
    assert await asyncio.to_thread(rabbitmq_server.get, "vhosts", namespace) is not None


async def test_objects_of_other_namespaces_need_permission(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    namespace: str,
    rabbitmq_server: RabbitMQHarness,
) -> None:
    await _provisioned(simulated_client, namespace, rabbitmq_server)
    other = simulated_control_plane.create_namespace("guest")
    reference = {"name": "mq", "namespace": namespace}
    guest = objects.a_vhost(other, other, rabbitmqClusterReference=reference)
    await simulated_client.create(VHOST, guest)
    key = Key(other, "nova")
    await _wait_for_condition(simulated_client, VHOST, key, ("False", "FailedCreateOrUpdate"))
    assert "topology-allowed-namespaces" in await message(simulated_client, VHOST, key)
    annotations = {"rabbitmq.com/topology-allowed-namespaces": other}
    patch = {"metadata": {"annotations": annotations}}
    await simulated_client.patch(CLUSTER, Key(namespace, "mq"), patch)
    await _wait_for_condition(simulated_client, VHOST, key, CREATED)
    await simulated_client.delete(VHOST, key)
    await _is_gone(simulated_client, VHOST, key)


async def test_a_converged_pass_makes_no_request(
    simulated_client: Client,
    namespace: str,
    running: RunningProviders,
    fault_transport: FaultTransport,
    rabbitmq_server: RabbitMQHarness,
) -> None:
    await _provisioned(simulated_client, namespace, rabbitmq_server)
    await eventually(running.is_idle, "at rest")
    before = len(fault_transport.calls)
    running.controller("rabbitmq").queue.add(Key(namespace, "mq"))
    for kind in ("vhost", "user", "permission", "policy"):
        running.controller(f"rabbitmqcluster-{kind}").queue.add(Key(namespace, "nova"))
    await eventually(running.is_idle, "at rest again")
    assert fault_transport.calls[before:] == []
