"""The provider dies at each of its API calls in turn; the next one finishes the work."""

import asyncio
import base64
from dataclasses import dataclass

import pytest

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME_CLAIM, SECRET
from cobaltcore.api.foreign.mariadb import DATABASE, GRANT, MARIADB, USER
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.integration.providers import mariadb_objects as objects
from tests.integration.providers.mariadb_fixtures import provided
from tests.support import simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, When
from tests.support.mariadb import MariaDBHarness
from tests.support.operating import read
from tests.support.providers import condition, converges_despite_crash, install

ON_SERVER = (GRANT, USER, DATABASE)


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A server with a database, an account and its rights, from their making to their end."""

    client: Client
    server: MariaDBHarness
    namespace: str

    @property
    def name(self) -> str:
        return self.namespace.replace("-", "_")

    async def create(self) -> None:
        await simulated_volumes.bind(self.client, Key(self.namespace, "storage-db-0"))
        for secret in (
            objects.a_secret(self.namespace, "db-root", password=self.server.password),
            objects.a_secret(self.namespace, "keystone-db", password="first"),
        ):
            await self.client.create(SECRET, secret)
        # Things on the server come before it: they wait.
        await self.client.create(GRANT, objects.a_grant(self.namespace, self.name))
        await self.client.create(USER, objects.a_user(self.namespace, self.name))
        await self.client.create(DATABASE, objects.a_database(self.namespace, self.name))
        await self.client.create(MARIADB, objects.a_server(self.namespace, port=self.server.port))

    async def is_created(self) -> bool:
        return await self._is_ready() and await self._may_write("first")

    async def change(self) -> None:
        data = {"password": base64.b64encode(b"second").decode()}
        await self.client.patch(SECRET, Key(self.namespace, "keystone-db"), {"data": data})

    async def is_changed(self) -> bool:
        return await self._is_ready() and await self._may_write("second")

    async def end(self) -> None:
        for kind in ON_SERVER:
            await self.client.delete(kind, Key(self.namespace, "keystone"))

    async def is_ended(self) -> bool:
        deleted = [
            await read(self.client, kind, Key(self.namespace, "keystone")) for kind in ON_SERVER
        ]
        return (
            deleted == [None] * len(ON_SERVER)
            and self.name not in await asyncio.to_thread(self.server.databases)
            and not await asyncio.to_thread(self.server.accepts_login, self.name, "second")
        )

    async def close(self) -> None:
        await self.client.delete(MARIADB, Key(self.namespace, "db"))

    async def is_closed(self) -> bool:
        """Nothing holds the object, and its data stays."""
        claim = await read(
            self.client, PERSISTENT_VOLUME_CLAIM, Key(self.namespace, "storage-db-0")
        )
        deleted = await read(self.client, MARIADB, Key(self.namespace, "db")) is None
        return deleted and claim is not None and not claim["metadata"].get("deletionTimestamp")

    async def _is_ready(self) -> bool:
        server = await condition(self.client, MARIADB, Key(self.namespace, "db"))
        report = [
            await condition(self.client, kind, Key(self.namespace, "keystone"))
            for kind in ON_SERVER
        ]
        return server == ("True", "StatefulSetReady") and set(report) == {("True", "Created")}

    async def _may_write(self, password: str) -> bool:
        if not await asyncio.to_thread(self.server.accepts_login, self.name, password):
            return False
        await asyncio.to_thread(
            self.server.query,
            f"CREATE TABLE IF NOT EXISTS {self.name}.t (i INT)",
            user=self.name,
            password=password,
        )
        return True


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    mariadb_server: MariaDBHarness,
    when: When,
) -> None:
    provider = provided()
    await install(simulated_client, provider)
    call, crashes = 0, True
    while crashes:
        call += 1
        namespace = simulated_control_plane.create_namespace("crash")
        lifecycle = Lifecycle(simulated_client, mariadb_server, namespace)
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
