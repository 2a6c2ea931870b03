import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cobaltcore.api.credentials import AGGREGATE
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.context import Context
from cobaltcore.operators.credentials.operator import OPERATOR
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read, transport
from tests.support.rights import as_operator

AGENT = "secret-aggregation"


@pytest.fixture
async def client(
    installed_crds: ControlPlaneHarness,
) -> AsyncIterator[Client]:
    """The test's view, while the operator runs."""
    observer = Client(transport(installed_crds, "test-observer"))
    own = Client(as_operator(installed_crds, AGENT, "credentials"))
    cluster = Cluster(own)
    manager = Manager({"local": cluster}, OPERATOR.controllers(Context(cluster, "test")))
    task = asyncio.ensure_future(manager.run())
    yield observer
    manager.stop()
    await asyncio.wait_for(task, 60)
    await own.close()
    await observer.close()


def a_secret(name: str, namespace: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    }


def an_aggregate(namespace: str, *sources: Any) -> Object:
    return {
        "apiVersion": AGGREGATE.api_version,
        "kind": AGGREGATE.kind,
        "metadata": {"name": "all", "namespace": namespace},
        "spec": {"sources": list(sources), "target": {"name": "merged"}},
    }


async def content(client: Client, namespace: str) -> dict[str, str] | None:
    found = await read(client, SECRET, Key(namespace, "merged"))
    if found is None:
        return None
    return {k: base64.b64decode(v).decode() for k, v in found.get("data", {}).items()}


async def condition(client: Client, namespace: str) -> tuple[str, str, str]:
    found = await client.get(AGGREGATE, Key(namespace, "all"))
    for each in (found.get("status") or {}).get("conditions", []):
        if each["type"] == "Ready":
            return each["status"], each["reason"], each.get("message", "")
    return "", "", ""


async def test_the_target_follows_its_sources(client: Client, namespace: str) -> None:
    await client.create(SECRET, a_secret("db", namespace, username="nova", password="one"))
    await client.create(SECRET, a_secret("mq", namespace, password="two"))
    sources = (
        {"secretRef": {"name": "db"}, "keys": ["password"], "rename": {"password": "DB"}},
        {"secretRef": {"name": "mq"}, "rename": {"password": "MQ"}},
    )
    await client.create(AGGREGATE, an_aggregate(namespace, *sources))

    async def merged() -> bool:
        return await content(client, namespace) == {"DB": "one", "MQ": "two"}

    await eventually(merged, "the target is written")
    await client.patch(SECRET, Key(namespace, "mq"), {"stringData": {"password": "three"}})

    async def followed() -> bool:
        return await content(client, namespace) == {"DB": "one", "MQ": "three"}

    await eventually(followed, "the target follows")


async def test_a_missing_source_is_named_and_the_last_good_target_stays(
    client: Client, namespace: str
) -> None:
    await client.create(SECRET, a_secret("a", namespace, x="1"))
    await client.create(AGGREGATE, an_aggregate(namespace, {"secretRef": {"name": "a"}}))

    async def ready() -> bool:
        return (await condition(client, namespace))[0] == "True"

    await eventually(ready, "the aggregate is ready")
    await client.delete(SECRET, Key(namespace, "a"))

    async def blocked() -> bool:
        state = await condition(client, namespace)
        return state == ("False", "SourcesMissing", "Secret 'a' does not exist")

    await eventually(blocked, "the status names the missing Secret")
    assert await content(client, namespace) == {"x": "1"}


async def test_a_target_of_somebody_else_is_left_alone(client: Client, namespace: str) -> None:
    await client.create(SECRET, a_secret("merged", namespace, theirs="yes"))
    await client.create(SECRET, a_secret("a", namespace, x="1"))
    await client.create(AGGREGATE, an_aggregate(namespace, {"secretRef": {"name": "a"}}))

    async def blocked() -> bool:
        return (await condition(client, namespace))[:2] == ("False", "ResourceConflict")

    await eventually(blocked, "the conflict is reported")
    assert await content(client, namespace) == {"theirs": "yes"}


async def test_secrets_never_reach_the_status(client: Client, namespace: str) -> None:
    await client.create(SECRET, a_secret("a", namespace, k="very-private-value"))
    await client.create(AGGREGATE, an_aggregate(namespace, {"secretRef": {"name": "a"}}))

    async def ready() -> bool:
        return (await condition(client, namespace))[0] == "True"

    await eventually(ready, "the aggregate is ready")
    found = await client.get(AGGREGATE, Key(namespace, "all"))
    private = base64.b64encode(b"very-private-value").decode()
    assert "very-private-value" not in str(found)
    assert private not in str(found)
