"""The reconciler with a small planner: what users see when a reconcile does not succeed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api.base import Resource
from cobaltcore.api.foreign.kubernetes import EVENT
from cobaltcore.engine.context import Context
from cobaltcore.engine.plan import Action, Plan
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object, WatchScope
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, transport
from tests.support.sample import SAMPLE, SampleSpec, SampleStatus, a_sample


class Sample(Resource[SampleSpec, SampleStatus]):
    """The sample kind."""


async def _never_ends(cluster: Cluster) -> None:
    await asyncio.Event().wait()


class SamplePlanner(Planner[Scope[SampleSpec, SampleStatus]]):
    """Does what the message of the spec asks for."""

    name = "sample"
    manager = "sample-controller"
    resource = Sample
    scope = Scope[SampleSpec, SampleStatus]
    kind = SAMPLE

    def plan(self, scope: Scope[SampleSpec, SampleStatus]) -> Plan[SampleStatus]:
        match scope.spec.message:
            case "fail":
                raise ValueError("7 is odd")
            case "wait":
                return Plan(verdict=Waiting("Starting", "0/1 pods ready"))
            case "block":
                return Plan(verdict=Blocked("ImageMissing", "set spec.image"))
            case "hang":
                action = Action("drain node", _never_ends, limit=timedelta(milliseconds=50))
                return Plan(verdict=Ready("Running"), actions=[action])
        return Plan(verdict=Ready("Running"))


@pytest.fixture
async def client(control_plane: ControlPlaneHarness, sample_kind: None) -> AsyncIterator[Client]:
    client = Client(transport(control_plane, "test-observer"))
    async with _running(control_plane):
        yield client
    await client.close()


@asynccontextmanager
async def _running(plane: ControlPlaneHarness) -> AsyncIterator[None]:
    client = Client(transport(plane, "sample-operator"))
    cluster = Cluster(client)
    controller = Reconciler(SamplePlanner(), Context(cluster, "test")).controller
    task = asyncio.ensure_future(Manager({"local": cluster}, [controller]).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        await client.close()


async def conditions(client: Client, key: Key) -> dict[str, Any]:
    found = await client.get(SAMPLE, key)
    return {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}


async def create(client: Client, namespace: str, message: Any) -> Key:
    key = Key(namespace, str(message))
    await client.create(SAMPLE, a_sample(key.name, namespace, message=message))
    return key


def has_reason(client: Client, key: Key, reason: str) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        ready = (await conditions(client, key)).get("Ready") or {}
        return bool(ready.get("reason") == reason)

    return check


async def events(client: Client, key: Key) -> list[Object]:
    scope = WatchScope(key.namespace)
    pages = [page async for page, _ in client.list_pages(EVENT, scope)]
    return [each for page in pages for each in page if each["regarding"]["name"] == key.name]


async def test_exception_becomes_a_condition_and_an_event(client: Client, namespace: str) -> None:
    key = await create(client, namespace, "fail")
    await eventually(has_reason(client, key, "ReconcileFailed"), "the fault is reported")
    found = await conditions(client, key)
    assert found["Ready"]["status"] == "False"
    assert found["Ready"]["message"].startswith("ValueError: 7 is odd; ")

    async def has_event() -> bool:
        return {"ReconcileFailed"} == {each["reason"] for each in await events(client, key)}

    await eventually(has_event, "an event reports it")


async def test_blocked_is_stalled_and_waiting_is_not(client: Client, namespace: str) -> None:
    waits, blocks = [await create(client, namespace, each) for each in ("wait", "block")]
    await eventually(has_reason(client, waits, "Starting"), "one waits")
    await eventually(has_reason(client, blocks, "ImageMissing"), "one is blocked")
    assert "Stalled" not in await conditions(client, waits)
    assert (await conditions(client, blocks))["Stalled"]["message"] == "set spec.image"


async def test_stalled_is_removed_when_the_spec_is_fixed(client: Client, namespace: str) -> None:
    key = await create(client, namespace, "block")
    await eventually(has_reason(client, key, "ImageMissing"), "it is blocked")
    await client.patch(SAMPLE, key, {"spec": {"message": "run"}})
    await eventually(has_reason(client, key, "Running"), "it runs")
    assert "Stalled" not in await conditions(client, key)


async def test_object_that_does_not_decode_gets_a_condition_and_others_continue(
    client: Client, namespace: str
) -> None:
    broken = await create(client, namespace, 7)
    await eventually(has_reason(client, broken, "SpecInvalid"), "the object is rejected")
    ready = (await conditions(client, broken))["Ready"]
    assert ready["message"] == "object is invalid: Expected `str`, got `int` - at `$.spec.message`"
    works = await create(client, namespace, "run")
    await eventually(has_reason(client, works, "Running"), "another object is reconciled")


async def test_action_that_takes_too_long_is_reported(client: Client, namespace: str) -> None:
    key = await create(client, namespace, "hang")
    await eventually(has_reason(client, key, "ReconcileFailed"), "the timeout is reported")
    ready = (await conditions(client, key))["Ready"]
    assert ready["message"] == "drain node: not done within 0.05 s; retried with back-off"
