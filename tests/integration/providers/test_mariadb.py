"""MariaDB, Database, User and Grant on simulated nodes, with a real server behind the Service."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.foreign.mariadb import DATABASE, GRANT, MARIADB, USER
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, WatchScope
from tests.integration.providers import mariadb_objects as objects
from tests.integration.providers.mariadb_fixtures import provided
from tests.support import simulated_volumes
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import FaultTransport
from tests.support.mariadb import MariaDBHarness
from tests.support.operating import eventually, read
from tests.support.providers import (
    RunningProviders,
    condition,
    content,
    install,
    message,
    running_providers,
)
from tests.support.rights import as_provider

KINDS = (GRANT, USER, DATABASE, MARIADB)


@pytest.fixture
async def fault_transport(
    simulated_control_plane: ControlPlaneHarness, simulated_client: Client
) -> FaultTransport:
    """The provider's connection, which counts its requests."""
    await install(simulated_client, provided())
    return FaultTransport(as_provider(simulated_control_plane, "provider"))


@pytest.fixture
async def running(fault_transport: FaultTransport) -> AsyncIterator[RunningProviders]:
    async with running_providers(fault_transport, provided()) as found:
        yield found


@pytest.fixture
async def namespace(
    simulated_control_plane: ControlPlaneHarness,
    simulated_client: Client,
    running: RunningProviders,
) -> AsyncIterator[str]:
    """A namespace with a volume for the server; its objects are deleted afterwards."""
    name = simulated_control_plane.create_namespace("mariadb")
    await simulated_volumes.bind(simulated_client, Key(name, "storage-db-0"))
    yield name
    for kind in KINDS:
        for key in (Key(name, "keystone"), Key(name, "db")):
            if await read(simulated_client, kind, key):
                await simulated_client.delete(kind, key)
                await _is_gone(simulated_client, kind, key)


async def _is_gone(client: Client, kind: Kind, key: Key) -> None:
    async def check() -> bool:
        return await read(client, kind, key) is None

    await eventually(check, f"{kind.kind} {key} is gone")


async def _wait_for_condition(
    client: Client, kind: Kind, key: Key, expected: tuple[str, str]
) -> None:
    async def check() -> bool:
        return await condition(client, kind, key) == expected

    await eventually(check, f"{kind.kind} {key} reports {expected}")


async def _provisioned(client: Client, namespace: str, server: MariaDBHarness) -> str:
    """A server with all objects on it; the name of database and account."""
    name = namespace.replace("-", "_")
    root = objects.a_secret(namespace, "db-root", password=server.password)
    await client.create(SECRET, root)
    await client.create(SECRET, objects.a_secret(namespace, "keystone-db", password="first"))
    await client.create(MARIADB, objects.a_server(namespace, port=server.port))
    await client.create(DATABASE, objects.a_database(namespace, name))
    await client.create(USER, objects.a_user(namespace, name))
    await client.create(GRANT, objects.a_grant(namespace, name))
    for kind in (DATABASE, USER, GRANT):
        await _wait_for_condition(client, kind, Key(namespace, "keystone"), ("True", "Created"))
    return name


async def test_a_server_has_the_real_operators_names(
    simulated_client: Client, namespace: str
) -> None:
    key = Key(namespace, "db")
    generated = {"name": "db-root", "key": "password", "generate": True}
    server = objects.a_server(namespace, rootPasswordSecretKeyRef=generated)
    await simulated_client.create(MARIADB, server)
    await _wait_for_condition(simulated_client, MARIADB, key, ("True", "StatefulSetReady"))

    password = await content(simulated_client, Key(namespace, "db-root"))
    assert password is not None
    assert len(password["password"]) > 20
    for name in ("db", "db-primary", "db-internal"):
        service = await simulated_client.get(SERVICE, Key(namespace, name))
        assert service["spec"]["ports"][0]["port"] == 3306
    claim = await simulated_client.get(PERSISTENT_VOLUME_CLAIM, Key(namespace, "storage-db-0"))
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    status = (await simulated_client.get(MARIADB, key))["status"]
    assert (status["replicas"], status["currentPrimary"]) == (1, "db-0")
    stateful_set = await simulated_client.get(STATEFUL_SET, key)
    assert password["password"] not in str(stateful_set)


async def test_a_server_waits_for_its_password(simulated_client: Client, namespace: str) -> None:
    key = Key(namespace, "db")
    await simulated_client.create(MARIADB, objects.a_server(namespace))
    await _wait_for_condition(simulated_client, MARIADB, key, ("False", "Failed"))
    assert "Secret 'db-root'" in await message(simulated_client, MARIADB, key)
    await simulated_client.create(
        SECRET, objects.a_secret(namespace, "db-root", password="chosen")
    )
    await _wait_for_condition(simulated_client, MARIADB, key, ("True", "StatefulSetReady"))


async def test_changed_configuration_replaces_the_pod_and_its_config_map(
    simulated_client: Client, namespace: str
) -> None:
    key = Key(namespace, "db")
    await simulated_client.create(
        SECRET, objects.a_secret(namespace, "db-root", password="chosen")
    )
    await simulated_client.create(MARIADB, objects.a_server(namespace))
    await _wait_for_condition(simulated_client, MARIADB, key, ("True", "StatefulSetReady"))
    settings = "[mariadb]\nmax_connections = 7"
    await simulated_client.patch(MARIADB, key, {"spec": {"myCnf": settings}})

    async def rolled() -> bool:
        pages = simulated_client.list_pages(CONFIG_MAP, WatchScope(namespace))
        found = [each async for page, _ in pages for each in page]
        ours = [each["data"] for each in found if each["metadata"]["name"].startswith("db-config")]
        return len(ours) == 1 and settings in ours[0]["my.cnf"]

    await eventually(rolled, "one ConfigMap with the new settings")
    await _wait_for_condition(simulated_client, MARIADB, key, ("True", "StatefulSetReady"))


async def test_volumes_are_deleted_with_the_server_on_request(
    simulated_client: Client, namespace: str
) -> None:
    key = Key(namespace, "db")
    await simulated_client.create(
        SECRET, objects.a_secret(namespace, "db-root", password="chosen")
    )
    storage = {"size": "1Gi", "pvcRetentionPolicy": {"whenDeleted": "Delete"}}
    await simulated_client.create(MARIADB, objects.a_server(namespace, storage=storage))
    await _wait_for_condition(simulated_client, MARIADB, key, ("True", "StatefulSetReady"))
    claim = Key(namespace, "storage-db-0")

    async def owned() -> bool:
        found = await simulated_client.get(PERSISTENT_VOLUME_CLAIM, claim)
        return bool(found["metadata"].get("ownerReferences"))

    await eventually(owned, "the claim belongs to the StatefulSet")
    await simulated_client.delete(MARIADB, key)

    async def gone() -> bool:
        found = await read(simulated_client, PERSISTENT_VOLUME_CLAIM, claim)
        return found is None or "deletionTimestamp" in found["metadata"]

    await eventually(gone, "the claim is deleted")


async def test_a_converged_pass_makes_no_request(
    simulated_client: Client,
    namespace: str,
    running: RunningProviders,
    fault_transport: FaultTransport,
    mariadb_server: MariaDBHarness,
) -> None:
    await _provisioned(simulated_client, namespace, mariadb_server)
    await eventually(running.is_idle, "at rest")
    before = len(fault_transport.calls)
    running.controller("mariadb").queue.add(Key(namespace, "db"))
    for kind in ("database", "user", "grant"):
        running.controller(f"mariadb-{kind}").queue.add(Key(namespace, "keystone"))
    await eventually(running.is_idle, "at rest again")
    assert fault_transport.calls[before:] == []


async def test_skipped_cleanup_leaves_everything_on_the_server(
    simulated_client: Client, namespace: str, mariadb_server: MariaDBHarness
) -> None:
    name = await _provisioned(simulated_client, namespace, mariadb_server)
    for kind in (GRANT, USER, DATABASE):
        key = Key(namespace, "keystone")
        await simulated_client.patch(kind, key, {"spec": {"cleanupPolicy": "Skip"}})
        await simulated_client.delete(kind, key)
        await _is_gone(simulated_client, kind, key)
    assert name in await asyncio.to_thread(mariadb_server.databases)
    assert await asyncio.to_thread(mariadb_server.accepts_login, name, "first")


async def test_any_character_is_allowed_in_a_password(
    simulated_client: Client, namespace: str, mariadb_server: MariaDBHarness
) -> None:
    name = await _provisioned(simulated_client, namespace, mariadb_server)
    odd = "'\"\\`%s\N{SNOWMAN}\n;--"
    data = {"password": base64.b64encode(odd.encode()).decode()}
    await simulated_client.patch(SECRET, Key(namespace, "keystone-db"), {"data": data})
    await eventually(lambda: asyncio.to_thread(mariadb_server.accepts_login, name, odd), "lets in")
    assert not await asyncio.to_thread(mariadb_server.accepts_login, name, "first")


async def test_privileges_that_leave_the_spec_are_revoked(
    simulated_client: Client, namespace: str, mariadb_server: MariaDBHarness
) -> None:
    name = await _provisioned(simulated_client, namespace, mariadb_server)
    patch = {"spec": {"privileges": ["SELECT", "INSERT"]}}
    await simulated_client.patch(GRANT, Key(namespace, "keystone"), patch)

    async def reduced() -> bool:
        account = (name, "%")
        rows = await asyncio.to_thread(mariadb_server.query, "SHOW GRANTS FOR %s@%s", account)
        return any("GRANT SELECT, INSERT ON" in row[0] for row in rows)

    await eventually(reduced, "fewer privileges")
    await _wait_for_condition(
        simulated_client, GRANT, Key(namespace, "keystone"), ("True", "Created")
    )


async def test_a_refused_object_is_reported(
    simulated_client: Client, namespace: str, mariadb_server: MariaDBHarness
) -> None:
    await _provisioned(simulated_client, namespace, mariadb_server)
    key = Key(namespace, "keystone")
    await simulated_client.patch(DATABASE, key, {"spec": {"characterSet": "klingon"}})
    await _wait_for_condition(simulated_client, DATABASE, key, ("False", "Failed"))
    assert "Unknown character set" in await message(simulated_client, DATABASE, key)
    await simulated_client.patch(GRANT, key, {"spec": {"privileges": ["SELECT; DROP TABLE x"]}})
    await _wait_for_condition(simulated_client, GRANT, key, ("False", "Failed"))
    assert "is not a privilege" in await message(simulated_client, GRANT, key)
    # Only the objects are invalid: what was created before is dropped.
    await simulated_client.patch(GRANT, key, {"spec": {"privileges": ["SELECT"]}})
    await _wait_for_condition(simulated_client, GRANT, key, ("True", "Created"))
