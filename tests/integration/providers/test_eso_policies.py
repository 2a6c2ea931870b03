"""Policies for missing keys and deleted objects."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    EXTERNAL_SECRET,
    PUSH_SECRET,
    SECRET_STORE,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from cobaltlab.providers.eso import PROVIDER
from cobaltlab.providers.eso_kubernetes import secret_name
from tests.integration.providers import eso_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.providers import (
    an_object,
    condition,
    content,
    install,
    message,
    running_providers,
)
from tests.support.rights import as_provider

Values = dict[str, str] | None


class Place:
    """A namespace with a store in another, seen by the test."""

    def __init__(self, client: Client, namespace: str, remote: str) -> None:
        self.client = client
        self.namespace = namespace
        self.remote = remote

    async def external(self, *data: Any, **spec: Any) -> None:
        obj = objects.an_external(self.namespace, *data, **spec)
        await self.client.create(EXTERNAL_SECRET, obj)

    async def push(self, *data: Any, **spec: Any) -> None:
        await self.client.create(PUSH_SECRET, objects.a_push(self.namespace, *data, **spec))

    async def force(self) -> None:
        patch = {"metadata": {"annotations": {"force-sync": "now"}}}
        await self.client.patch(EXTERNAL_SECRET, Key(self.namespace, "pull"), patch)

    async def target(self, expected: Values) -> None:
        await self._holds(Key(self.namespace, "target"), expected)

    async def stored(self, key: str, expected: Values) -> None:
        await self._holds(Key(self.remote, secret_name(key)), expected)

    async def _holds(self, key: Key, expected: Values) -> None:
        async def check() -> bool:
            return await content(self.client, key) == expected

        await eventually(check, f"Secret {key} is {expected and sorted(expected)}")

    async def reports(self, kind: Kind, expected: tuple[str, str], part: str = "") -> None:
        key = Key(self.namespace, "pull" if kind == EXTERNAL_SECRET else "push")

        async def check() -> bool:
            reported = (
                await condition(self.client, kind, key),
                await message(self.client, kind, key),
            )
            return reported[0] == expected and part in reported[1]

        await eventually(check, f"{kind.kind} reports {expected} {part}")


@pytest.fixture
async def place(
    control_plane: ControlPlaneHarness, client: Client, namespace: str
) -> AsyncIterator[Place]:
    await install(client, PROVIDER)
    found = Place(client, namespace, control_plane.create_namespace("remote"))
    await client.create(SECRET_STORE, objects.a_store(namespace, found.remote))
    async with running_providers(as_provider(control_plane, "lab-eso"), PROVIDER):
        yield found


async def test_creation_policy_orphan_has_no_owner(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one")
    target = {"name": "target", "creationPolicy": "Orphan"}
    await place.external(objects.a_datum("password", "db"), target=target)

    await place.target({"password": "one"})

    found = await place.client.get(SECRET, Key(place.namespace, "target"))
    assert "ownerReferences" not in found["metadata"]


async def test_creation_policy_merge_owns_only_its_keys(
    place: Place,
) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one", user="nova")
    target = {"name": "target", "creationPolicy": "Merge", "deletionPolicy": "Merge"}
    data = [objects.a_datum("password", "db"), objects.a_datum("user", "db")]
    await place.external(*data, target=target)
    await place.reports(EXTERNAL_SECRET, ("False", "SecretMissing"))

    await objects.create_secret(place.client, place.namespace, "target", theirs="yes")
    await place.target({"theirs": "yes", "password": "one", "user": "nova"})

    patch = {"spec": {"data": [objects.a_datum("user", "db")]}}
    await place.client.patch(EXTERNAL_SECRET, Key(place.namespace, "pull"), patch)
    await place.target({"theirs": "yes", "user": "nova"})


async def test_creation_policy_none_writes_nothing(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one")
    target = {"name": "target", "creationPolicy": "None"}
    await place.external(objects.a_datum("password", "db"), target=target)

    await place.reports(EXTERNAL_SECRET, ("True", "SecretSynced"))

    assert await content(place.client, Key(place.namespace, "target")) is None


async def test_foreign_secret_is_not_touched(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "target", theirs="yes")
    await objects.create_secret(place.client, place.remote, "db", password="one")
    await place.external(objects.a_datum("password", "db"))

    await place.reports(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "is not owned by")

    await place.target({"theirs": "yes"})


@pytest.mark.parametrize(
    ("policy", "reason", "left"),
    [
        ("Retain", ("False", "SecretSyncedError"), {"a": "1"}),
        ("Delete", ("True", "SecretDeleted"), None),
        ("Merge", ("True", "SecretSynced"), {}),
    ],
)
async def test_deletion_policy_when_the_key_is_missing(
    place: Place, policy: str, reason: tuple[str, str], left: Values
) -> None:
    await objects.create_secret(place.client, place.remote, "db", a="1")
    target = {"name": "target", "deletionPolicy": policy}
    await place.external(objects.a_datum("a", "db"), target=target)
    await place.target({"a": "1"})

    await place.client.delete(SECRET, Key(place.remote, "db"))
    await place.force()

    await place.reports(EXTERNAL_SECRET, reason)
    await place.target(left)
    await objects.create_secret(place.client, place.remote, "db", a="2")
    if policy == "Merge":
        await place.client.patch(
            EXTERNAL_SECRET, Key(place.namespace, "pull"), {"metadata": {"labels": {"again": "1"}}}
        )
    await place.target({"a": "2"})


async def test_renamed_target_deletes_the_old_one(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", a="1")
    await place.external(objects.a_datum("a", "db"))
    await place.target({"a": "1"})

    patch = {"spec": {"target": {"name": "other"}}}
    await place.client.patch(EXTERNAL_SECRET, Key(place.namespace, "pull"), patch)

    await place.target(None)
    assert await content(place.client, Key(place.namespace, "other")) == {"a": "1"}


async def test_extract_find_and_template(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="p", user="u")
    await place.push(objects.an_entry("key", "team/a/one"), objects.an_entry("key", "team/b/two"))
    await objects.create_secret(place.client, place.namespace, "source", key="k")
    template = {
        "type": "example.org/dsn",
        "metadata": {"labels": {"team": "nova"}, "annotations": {"note": "hello"}},
        "mergePolicy": "Merge",
        "data": {"dsn": 'mysql://{{ .user }}:{{ index . "password" }}@db'},
    }
    spec = {
        "data": [],
        "dataFrom": [
            {"extract": {"key": "db"}},
            {"find": {"name": {"regexp": "^team/a/"}}},
        ],
        "target": {"name": "target", "template": template},
    }
    await place.reports(PUSH_SECRET, ("True", "Synced"))
    await place.external(**spec)

    await place.target(
        {"user": "u", "password": "p", "team_a_one": '{"key":"k"}', "dsn": "mysql://u:p@db"}
    )

    found = await place.client.get(SECRET, Key(place.namespace, "target"))
    assert found["type"] == "example.org/dsn"
    assert found["metadata"]["labels"]["team"] == "nova"
    assert found["metadata"]["annotations"]["note"] == "hello"


async def test_unsupported_field_is_reported(place: Place) -> None:
    rewrite = [{"regexp": {"source": "a", "target": "b"}}]
    await place.external(data=[], dataFrom=[{"extract": {"key": "db"}, "rewrite": rewrite}])

    await place.reports(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "dataFrom[].rewrite")


async def test_whole_secret_is_pushed_and_removed_keys_are_deleted(place: Place) -> None:
    client = place.client
    await objects.create_secret(client, place.namespace, "source", k0="a", k1="b")
    await place.push(objects.an_entry(None, "kv-v2/data/keystone/fernet", None))
    await place.stored("kv-v2/keystone/fernet", {"k0": "a", "k1": "b"})

    patch = {"stringData": {"k2": "c"}, "data": {"k0": None}}
    await client.patch(SECRET, Key(place.namespace, "source"), patch)

    await place.stored("kv-v2/keystone/fernet", {"k1": "b", "k2": "c"})


async def test_update_policy_if_not_exists_keeps_what_is_there(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "source", a="new", b="new")
    await objects.create_secret(place.client, place.remote, "db", a="old")
    entries = [objects.an_entry("a", "db"), objects.an_entry("b", "db")]
    await place.push(*entries, updatePolicy="IfNotExists", deletionPolicy="Delete")
    await place.stored("db", {"a": "old", "b": "new"})
    await place.reports(PUSH_SECRET, ("True", "Synced"))

    await objects.change_secret(place.client, place.namespace, "source", b="newer")
    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    await place.stored("db", {"a": "old"})


async def test_deletion_policy_none_keeps_what_was_pushed(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "source", a="1")
    await place.push(objects.an_entry("a", "db"))
    await place.reports(PUSH_SECRET, ("True", "Synced"))

    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    assert await read(place.client, PUSH_SECRET, Key(place.namespace, "push")) is None
    await place.stored("db", {"a": "1"})


async def test_deletion_policy_delete_deletes_only_pushed_values(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "source", a="1", b="2")
    await objects.create_secret(place.client, place.remote, "shared", theirs="yes")
    entries = [objects.an_entry("a", "shared"), objects.an_entry("b", "own/path")]
    await place.push(*entries, deletionPolicy="Delete")
    await place.stored("shared", {"theirs": "yes", "a": "1"})
    await place.stored("own/path", {"b": "2"})
    await place.reports(PUSH_SECRET, ("True", "Synced"))

    patch = {"spec": {"data": [objects.an_entry("b", "own/path")]}}
    await place.client.patch(PUSH_SECRET, Key(place.namespace, "push"), patch)
    await place.stored("shared", {"theirs": "yes"})
    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    await place.stored("own/path", None)
    await place.stored("shared", {"theirs": "yes"})


async def test_missing_source_and_missing_key_are_reported(place: Place) -> None:
    await place.push(objects.an_entry("a", "db"))
    await place.reports(PUSH_SECRET, ("False", "Errored"), "could not get source secret 'source'")
    await objects.create_secret(place.client, place.namespace, "source", b="1")
    await place.reports(PUSH_SECRET, ("False", "Errored"), "secret key 'a' does not exist")
    await objects.change_secret(place.client, place.namespace, "source", a="1")
    await place.reports(PUSH_SECRET, ("True", "Synced"))


async def test_cluster_store_allows_only_the_namespaces_of_its_conditions(place: Place) -> None:
    name = f"limited-{place.namespace}"
    allowed = [{"namespaces": ["elsewhere"]}, {"namespaceRegexes": ["^other-"]}]
    store = objects.a_cluster_store(name, place.remote, conditions=allowed)
    await place.client.create(CLUSTER_SECRET_STORE, store)
    await objects.create_secret(place.client, place.remote, "db", a="1")
    ref = {"name": name, "kind": "ClusterSecretStore"}
    await place.external(objects.a_datum("a", "db"), secretStoreRef=ref)
    await place.reports(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "is not allowed from")

    patch = {"spec": {"conditions": [{"namespaceRegexes": ["^test-"]}]}}
    await place.client.patch(CLUSTER_SECRET_STORE, Key("", name), patch)

    await place.target({"a": "1"})


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        ({"vault": {"server": "https://openbao:8200"}}, "InvalidStoreConfiguration"),
        ({"kubernetes": {"server": {"url": "https://elsewhere:6443"}}}, "InvalidProviderConfig"),
    ],
)
async def test_unsupported_store_is_reported(
    place: Place, provider: dict[str, Any], reason: str
) -> None:
    key = Key(place.namespace, "other")
    store = an_object(SECRET_STORE, key, {"provider": provider})
    await place.client.create(SECRET_STORE, store)

    async def report() -> bool:
        return await condition(place.client, SECRET_STORE, key) == ("False", reason)

    await eventually(report, f"the store reports {reason}")
