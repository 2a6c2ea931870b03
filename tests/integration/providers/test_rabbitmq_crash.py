"""The provider dies at each of its API calls in turn; the next one finishes the work."""

import asyncio
import base64
from dataclasses import dataclass

import pytest

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME_CLAIM, SECRET
from cobaltcore.api.foreign.rabbitmq import CLUSTER, PERMISSION, USER, VHOST
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.integration.providers import rabbitmq_objects as objects
from tests.integration.providers.mariadb_objects import a_secret
from tests.support import simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, When
from tests.support.operating import read
from tests.support.providers import condition, converges_despite_crash, install
from tests.support.rabbitmq import RabbitMQHarness

ON_BROKER = (PERMISSION, USER, VHOST)


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A broker with a name space, an account and its rights, from their making to their end."""

    client: Client
    broker: RabbitMQHarness
    namespace: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, "nova")

    async def create(self) -> None:
        login = {"username": self.broker.username, "password": self.broker.password}
        await simulated_volumes.bind(self.client, Key(self.namespace, objects.CLAIM))
        # The broker on loopback has an administrator already.
        await self.client.create(SECRET, a_secret(self.namespace, "mq-default-user", **login))
        imported = a_secret(self.namespace, "nova-mq", username=self.namespace, password="first")
        await self.client.create(SECRET, imported)
        imports = {"importCredentialsSecret": {"name": "nova-mq"}}
        await self.client.create(PERMISSION, objects.a_permission(self.namespace, self.namespace))
        await self.client.create(USER, objects.a_user(self.namespace, **imports))
        await self.client.create(VHOST, objects.a_vhost(self.namespace, self.namespace))
        await self.client.create(CLUSTER, objects.a_cluster(self.namespace))

    async def is_created(self) -> bool:
        return await self._is_ready() and await self._may_enter("first")

    async def change(self) -> None:
        data = {"password": base64.b64encode(b"second").decode()}
        await self.client.patch(SECRET, Key(self.namespace, "nova-mq"), {"data": data})

    async def is_changed(self) -> bool:
        return await self._is_ready() and await self._may_enter("second")

    async def end(self) -> None:
        for kind in ON_BROKER:
            await self.client.delete(kind, self.key)

    async def is_ended(self) -> bool:
        deleted = [await read(self.client, kind, self.key) for kind in ON_BROKER]
        kept = [
            await asyncio.to_thread(self.broker.get, kind, self.namespace)
            for kind in ("users", "vhosts")
        ]
        return deleted == [None] * len(ON_BROKER) and kept == [None, None]

    async def close(self) -> None:
        await self.client.delete(CLUSTER, Key(self.namespace, "mq"))

    async def is_closed(self) -> bool:
        """Nothing holds the object, and its data stays."""
        claim = await read(
            self.client, PERSISTENT_VOLUME_CLAIM, Key(self.namespace, objects.CLAIM)
        )
        deleted = await read(self.client, CLUSTER, Key(self.namespace, "mq")) is None
        return deleted and claim is not None and not claim["metadata"].get("deletionTimestamp")

    async def _is_ready(self) -> bool:
        broker = await condition(
            self.client, CLUSTER, Key(self.namespace, "mq"), "AllReplicasReady"
        )
        report = [await condition(self.client, kind, self.key) for kind in ON_BROKER]
        return broker[0] == "True" and set(report) == {("True", "SuccessfulCreateOrUpdate")}

    async def _may_enter(self, password: str) -> bool:
        name = self.namespace
        rights = await asyncio.to_thread(self.broker.get, "permissions", name, name)
        return rights is not None and await asyncio.to_thread(
            self.broker.accepts_login, name, password
        )


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    rabbitmq_server: RabbitMQHarness,
    when: When,
) -> None:
    provider = objects.provided(rabbitmq_server)
    await install(simulated_client, provider)
    call, crashes = 0, True
    while crashes:
        call += 1
        namespace = simulated_control_plane.create_namespace("crash")
        lifecycle = Lifecycle(simulated_client, rabbitmq_server, namespace)
        steps = [
            (lifecycle.create, lifecycle.is_created),
            (lifecycle.change, lifecycle.is_changed),
            (lifecycle.end, lifecycle.is_ended),
            (lifecycle.close, lifecycle.is_closed),
        ]
        crashes = await converges_despite_crash(
            simulated_control_plane, steps, provider, CrashPoint(call, when)
        )
    assert call > 25, "a whole lifecycle takes more calls than that"
