"""Secret → PushSecret → store → ExternalSecret → Secret."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from cobaltcore.api.foreign.eso import (
    EXTERNAL_SECRET,
    PUSH_SECRET,
    SECRET_STORE,
)
from cobaltcore.api.foreign.kubernetes import NAMESPACE, SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from cobaltlab.providers.eso import PROVIDER
from cobaltlab.providers.eso_kubernetes import secret_name
from tests.integration.providers import eso_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.fake_clock import FakeClock
from tests.support.operating import eventually
from tests.support.providers import (
    RunningProviders,
    condition,
    content,
    install,
    message,
    running_providers,
    validate,
)
from tests.support.rights import as_provider

AGENT = "lab-eso"


@pytest.fixture
def remote(control_plane: ControlPlaneHarness) -> str:
    return control_plane.create_namespace("remote")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC))


@pytest.fixture
async def running(
    control_plane: ControlPlaneHarness, client: Client, clock: FakeClock
) -> AsyncIterator[RunningProviders]:
    await install(client, PROVIDER)
    fault_transport = as_provider(control_plane, AGENT)
    async with running_providers(fault_transport, PROVIDER, clock=clock) as running:
        yield running


async def holds(
    client: Client, key: Key, expected: dict[str, str] | None, clock: FakeClock
) -> None:
    async def check() -> bool:
        # A reconcile after a conflict is due when the clock moves.
        await clock.advance(0.1)
        return await content(client, key) == expected

    await eventually(check, f"Secret {key} holds {sorted(expected or {})}")


async def reports(
    client: Client, kind: Kind, key: Key, expected: tuple[str, str], clock: FakeClock
) -> None:
    async def check() -> bool:
        await clock.advance(0.1)
        return await condition(client, kind, key) == expected

    await eventually(check, f"{kind.kind} {key} reports {expected}")
    validate(kind, await client.get(kind, key))


async def a_round_trip(client: Client, namespace: str, remote: str, clock: FakeClock) -> None:
    await objects.create_secret(client, namespace, "source", clouds_yaml="one")
    await client.create(SECRET_STORE, objects.a_store(namespace, remote))
    await client.create(PUSH_SECRET, objects.a_push(namespace))
    await client.create(EXTERNAL_SECRET, objects.an_external(namespace))
    await holds(client, Key(namespace, "target"), {"clouds.yaml": "one"}, clock)


async def test_round_trip_reports_with_the_real_reasons(
    running: RunningProviders, client: Client, namespace: str, remote: str, clock: FakeClock
) -> None:
    await a_round_trip(client, namespace, remote, clock)

    await reports(client, SECRET_STORE, Key(namespace, "store"), ("True", "Valid"), clock)
    await reports(client, PUSH_SECRET, Key(namespace, "push"), ("True", "Synced"), clock)
    await reports(client, EXTERNAL_SECRET, Key(namespace, "pull"), ("True", "SecretSynced"), clock)
    target = await client.get(SECRET, Key(namespace, "target"))
    external = await client.get(EXTERNAL_SECRET, Key(namespace, "pull"))
    (reference,) = target["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["uid"]) == ("ExternalSecret", external["metadata"]["uid"])
    assert external["status"]["binding"] == {"name": "target"}
    stored = await content(client, Key(remote, secret_name(objects.PATH)))
    assert stored == {"clouds.yaml": "one"}
    push = await client.get(PUSH_SECRET, Key(namespace, "push"))
    assert list(push["status"]["syncedPushSecrets"]) == ["SecretStore/store"]


async def test_target_follows_at_the_refresh_interval(
    running: RunningProviders, client: Client, namespace: str, remote: str, clock: FakeClock
) -> None:
    await a_round_trip(client, namespace, remote, clock)
    await objects.change_secret(client, namespace, "source", clouds_yaml="two")
    stored = Key(remote, secret_name(objects.PATH))
    await holds(client, stored, {"clouds.yaml": "two"}, clock)
    assert await content(client, Key(namespace, "target")) == {"clouds.yaml": "one"}

    await clock.advance(3600)

    await holds(client, Key(namespace, "target"), {"clouds.yaml": "two"}, clock)


async def test_target_follows_at_once_when_forced(
    running: RunningProviders, client: Client, namespace: str, remote: str, clock: FakeClock
) -> None:
    await a_round_trip(client, namespace, remote, clock)
    await objects.change_secret(client, namespace, "source", clouds_yaml="two")
    await holds(client, Key(remote, secret_name(objects.PATH)), {"clouds.yaml": "two"}, clock)

    patch = {"metadata": {"annotations": {"force-sync": "1"}}}
    await client.patch(EXTERNAL_SECRET, Key(namespace, "pull"), patch)

    await holds(client, Key(namespace, "target"), {"clouds.yaml": "two"}, clock)


async def test_removed_store_is_reported_and_nothing_is_deleted(
    running: RunningProviders, client: Client, namespace: str, remote: str, clock: FakeClock
) -> None:
    await a_round_trip(client, namespace, remote, clock)
    await client.delete(SECRET_STORE, Key(namespace, "store"))

    key = Key(namespace, "pull")
    await reports(client, EXTERNAL_SECRET, key, ("False", "SecretSyncedError"), clock)
    await reports(client, PUSH_SECRET, Key(namespace, "push"), ("False", "Errored"), clock)
    text = await message(client, EXTERNAL_SECRET, key)
    assert text == "could not get SecretStore 'store': it does not exist"
    assert await content(client, Key(namespace, "target")) == {"clouds.yaml": "one"}
    stored = await content(client, Key(remote, secret_name(objects.PATH)))
    assert stored == {"clouds.yaml": "one"}
    await client.create(SECRET_STORE, objects.a_store(namespace, remote))
    await reports(client, EXTERNAL_SECRET, key, ("True", "SecretSynced"), clock)
    await reports(client, PUSH_SECRET, Key(namespace, "push"), ("True", "Synced"), clock)


async def test_changed_or_deleted_target_is_restored(
    running: RunningProviders, client: Client, namespace: str, remote: str, clock: FakeClock
) -> None:
    await a_round_trip(client, namespace, remote, clock)
    target = Key(namespace, "target")
    await objects.change_secret(client, namespace, "target", clouds_yaml="wrong", more="yes")
    await holds(client, target, {"clouds.yaml": "one"}, clock)
    await client.delete(SECRET, target)
    await holds(client, target, {"clouds.yaml": "one"}, clock)


async def test_object_waits_for_its_value_and_its_namespace(
    running: RunningProviders, client: Client, namespace: str, clock: FakeClock
) -> None:
    remote = f"later-{namespace}"
    await client.create(SECRET_STORE, objects.a_store(namespace, remote))
    await client.create(EXTERNAL_SECRET, objects.an_external(namespace))
    key = Key(namespace, "pull")
    await reports(client, EXTERNAL_SECRET, key, ("False", "SecretSyncedError"), clock)
    assert f"namespace '{remote}' does not exist" in await message(client, EXTERNAL_SECRET, key)
    await reports(
        client, SECRET_STORE, Key(namespace, "store"), ("False", "ValidationFailed"), clock
    )

    await client.create(NAMESPACE, {"metadata": {"name": remote}})
    await reports(client, SECRET_STORE, Key(namespace, "store"), ("True", "Valid"), clock)
    await objects.create_secret(client, namespace, "source", clouds_yaml="one")
    await client.create(PUSH_SECRET, objects.a_push(namespace))

    await reports(client, EXTERNAL_SECRET, key, ("True", "SecretSynced"), clock)


async def test_converged_objects_make_no_request(
    control_plane: ControlPlaneHarness,
    running: RunningProviders,
    client: Client,
    namespace: str,
    remote: str,
    clock: FakeClock,
) -> None:
    await a_round_trip(client, namespace, remote, clock)
    await reports(client, EXTERNAL_SECRET, Key(namespace, "pull"), ("True", "SecretSynced"), clock)

    async def is_idle() -> bool:
        await clock.advance(0.5)
        return await running.is_idle()

    await eventually(is_idle, "the provider is_idle")
    mark = control_plane.mark()
    for controller in running.controllers:
        for name in ("store", "push", "pull"):
            controller.queue.add(Key(namespace, name))
    await eventually(is_idle, "all reconciles are done")
    assert control_plane.audit(since=mark, agent=AGENT) == []


async def test_removed_value_leaves_the_provider_idle(
    control_plane: ControlPlaneHarness,
    running: RunningProviders,
    client: Client,
    namespace: str,
    remote: str,
    clock: FakeClock,
) -> None:
    await objects.create_secret(client, remote, "db", a="1")
    await client.create(SECRET_STORE, objects.a_store(namespace, remote))
    target = {"name": "target", "deletionPolicy": "Delete"}
    datum = objects.a_datum("a", "db")
    await client.create(EXTERNAL_SECRET, objects.an_external(namespace, datum, target=target))
    await holds(client, Key(namespace, "target"), {"a": "1"}, clock)
    await client.delete(SECRET, Key(remote, "db"))
    await clock.advance(3600)
    await holds(client, Key(namespace, "target"), None, clock)
    key = Key(namespace, "pull")
    await reports(client, EXTERNAL_SECRET, key, ("True", "SecretDeleted"), clock)
    await clock.advance(7200)

    async def is_idle() -> bool:
        await clock.advance(0.5)
        return await running.is_idle()

    await eventually(is_idle, "the provider is_idle")
    mark = control_plane.mark()
    await clock.advance(60)
    await eventually(is_idle, "the provider still is_idle")
    assert control_plane.audit(since=mark, agent=AGENT) == []


async def test_values_reach_neither_status_nor_events(
    control_plane: ControlPlaneHarness,
    running: RunningProviders,
    client: Client,
    namespace: str,
    remote: str,
    clock: FakeClock,
) -> None:
    await objects.create_secret(client, namespace, "source", clouds_yaml="very-private-value")
    await client.create(SECRET_STORE, objects.a_store(namespace, remote))
    await client.create(PUSH_SECRET, objects.a_push(namespace))
    expected = {"template": {"data": {"a": "{{ .nothing }}"}}, "name": "target"}
    await client.create(EXTERNAL_SECRET, objects.an_external(namespace, target=expected))
    key = Key(namespace, "pull")
    await reports(client, PUSH_SECRET, Key(namespace, "push"), ("True", "Synced"), clock)

    async def failed() -> bool:
        await clock.advance(0.1)
        return "no key 'nothing'" in await message(client, EXTERNAL_SECRET, key)

    await eventually(failed, "the template fails")
    shown = control_plane.kubectl(
        "get", "externalsecrets,pushsecrets,events", "-n", namespace, "-o", "yaml"
    )

    assert "UpdateFailed" in shown
    assert "very-private-value" not in shown
    assert "dmVyeS1wcml2YXRlLXZhbHVl" not in shown
