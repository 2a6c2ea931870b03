"""What a store lacks, and what goes when an object goes, is as the policies say."""

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
from cobaltcore.lab.providers.eso import PROVIDER
from cobaltcore.lab.providers.eso_kubernetes import secret_name
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind
from tests.integration.providers import eso_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.providing import an_object, condition, content, install, message, providing
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

    async def target(self, wanted: Values) -> None:
        await self._holds(Key(self.namespace, "target"), wanted)

    async def stored(self, key: str, wanted: Values) -> None:
        await self._holds(Key(self.remote, secret_name(key)), wanted)

    async def _holds(self, key: Key, wanted: Values) -> None:
        async def check() -> bool:
            return await content(self.client, key) == wanted

        await eventually(check, f"Secret {key} is {wanted and sorted(wanted)}")

    async def says(self, kind: Kind, wanted: tuple[str, str], part: str = "") -> None:
        key = Key(self.namespace, "pull" if kind == EXTERNAL_SECRET else "push")

        async def check() -> bool:
            said = await condition(self.client, kind, key), await message(self.client, kind, key)
            return said[0] == wanted and part in said[1]

        await eventually(check, f"{kind.kind} says {wanted} {part}")


@pytest.fixture
async def place(
    control_plane: ControlPlaneHarness, client: Client, namespace: str
) -> AsyncIterator[Place]:
    await install(client, PROVIDER)
    found = Place(client, namespace, control_plane.create_namespace("remote"))
    await client.create(SECRET_STORE, objects.a_store(namespace, found.remote))
    async with providing(as_provider(control_plane, "lab-eso"), PROVIDER):
        yield found


async def test_creation_policy_orphan_has_no_owner(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one")
    target = {"name": "target", "creationPolicy": "Orphan"}
    await place.external(objects.a_datum("password", "db"), target=target)

    await place.target({"password": "one"})

    found = await place.client.get(SECRET, Key(place.namespace, "target"))
    assert "ownerReferences" not in found["metadata"]


async def test_creation_policy_merge_adds_to_a_secret_and_takes_only_its_own_away(
    place: Place,
) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one", user="nova")
    target = {"name": "target", "creationPolicy": "Merge", "deletionPolicy": "Merge"}
    data = [objects.a_datum("password", "db"), objects.a_datum("user", "db")]
    await place.external(*data, target=target)
    await place.says(EXTERNAL_SECRET, ("False", "SecretMissing"))

    await objects.create_secret(place.client, place.namespace, "target", theirs="yes")
    await place.target({"theirs": "yes", "password": "one", "user": "nova"})

    patch = {"spec": {"data": [objects.a_datum("user", "db")]}}
    await place.client.patch(EXTERNAL_SECRET, Key(place.namespace, "pull"), patch)
    await place.target({"theirs": "yes", "user": "nova"})


async def test_creation_policy_none_writes_nothing(place: Place) -> None:
    await objects.create_secret(place.client, place.remote, "db", password="one")
    target = {"name": "target", "creationPolicy": "None"}
    await place.external(objects.a_datum("password", "db"), target=target)

    await place.says(EXTERNAL_SECRET, ("True", "SecretSynced"))

    assert await content(place.client, Key(place.namespace, "target")) is None


async def test_secret_of_somebody_else_is_left_alone(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "target", theirs="yes")
    await objects.create_secret(place.client, place.remote, "db", password="one")
    await place.external(objects.a_datum("password", "db"))

    await place.says(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "does not belong to")

    await place.target({"theirs": "yes"})


@pytest.mark.parametrize(
    ("policy", "reason", "left"),
    [
        ("Retain", ("False", "SecretSyncedError"), {"a": "1"}),
        ("Delete", ("True", "SecretDeleted"), None),
        ("Merge", ("True", "SecretSynced"), {}),
    ],
)
async def test_deletion_policy_when_the_value_is_gone(
    place: Place, policy: str, reason: tuple[str, str], left: Values
) -> None:
    await objects.create_secret(place.client, place.remote, "db", a="1")
    target = {"name": "target", "deletionPolicy": policy}
    await place.external(objects.a_datum("a", "db"), target=target)
    await place.target({"a": "1"})

    await place.client.delete(SECRET, Key(place.remote, "db"))
    await place.force()

    await place.says(EXTERNAL_SECRET, reason)
    await place.target(left)
    await objects.create_secret(place.client, place.remote, "db", a="2")
    if policy == "Merge":
        await place.client.patch(
            EXTERNAL_SECRET, Key(place.namespace, "pull"), {"metadata": {"labels": {"again": "1"}}}
        )
    await place.target({"a": "2"})


async def test_renamed_target_leaves_no_old_one(place: Place) -> None:
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
    await place.says(PUSH_SECRET, ("True", "Synced"))
    await place.external(**spec)

    await place.target(
        {"user": "u", "password": "p", "team_a_one": '{"key":"k"}', "dsn": "mysql://u:p@db"}
    )

    found = await place.client.get(SECRET, Key(place.namespace, "target"))
    assert found["type"] == "example.org/dsn"
    assert found["metadata"]["labels"]["team"] == "nova"
    assert found["metadata"]["annotations"]["note"] == "hello"


async def test_unserved_field_is_told(place: Place) -> None:
    rewrite = [{"regexp": {"source": "a", "target": "b"}}]
    await place.external(data=[], dataFrom=[{"extract": {"key": "db"}, "rewrite": rewrite}])

    await place.says(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "dataFrom[].rewrite")


async def test_whole_secret_is_pushed_and_its_old_keys_go(place: Place) -> None:
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
    await place.says(PUSH_SECRET, ("True", "Synced"))

    await objects.change_secret(place.client, place.namespace, "source", b="newer")
    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    await place.stored("db", {"a": "old"})


async def test_deletion_policy_none_keeps_what_was_pushed(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "source", a="1")
    await place.push(objects.an_entry("a", "db"))
    await place.says(PUSH_SECRET, ("True", "Synced"))

    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    assert await read(place.client, PUSH_SECRET, Key(place.namespace, "push")) is None
    await place.stored("db", {"a": "1"})


async def test_deletion_policy_delete_takes_its_values_and_no_others(place: Place) -> None:
    await objects.create_secret(place.client, place.namespace, "source", a="1", b="2")
    await objects.create_secret(place.client, place.remote, "shared", theirs="yes")
    entries = [objects.an_entry("a", "shared"), objects.an_entry("b", "own/path")]
    await place.push(*entries, deletionPolicy="Delete")
    await place.stored("shared", {"theirs": "yes", "a": "1"})
    await place.stored("own/path", {"b": "2"})
    await place.says(PUSH_SECRET, ("True", "Synced"))

    patch = {"spec": {"data": [objects.an_entry("b", "own/path")]}}
    await place.client.patch(PUSH_SECRET, Key(place.namespace, "push"), patch)
    await place.stored("shared", {"theirs": "yes"})
    await place.client.delete(PUSH_SECRET, Key(place.namespace, "push"))

    await place.stored("own/path", None)
    await place.stored("shared", {"theirs": "yes"})


async def test_missing_source_and_missing_key_are_told(place: Place) -> None:
    await place.push(objects.an_entry("a", "db"))
    await place.says(PUSH_SECRET, ("False", "Errored"), "could not get source secret 'source'")
    await objects.create_secret(place.client, place.namespace, "source", b="1")
    await place.says(PUSH_SECRET, ("False", "Errored"), "secret key 'a' does not exist")
    await objects.change_secret(place.client, place.namespace, "source", a="1")
    await place.says(PUSH_SECRET, ("True", "Synced"))


async def test_cluster_store_serves_only_the_namespaces_of_its_conditions(place: Place) -> None:
    name = f"limited-{place.namespace}"
    allowed = [{"namespaces": ["elsewhere"]}, {"namespaceRegexes": ["^other-"]}]
    store = objects.a_cluster_store(name, place.remote, conditions=allowed)
    await place.client.create(CLUSTER_SECRET_STORE, store)
    await objects.create_secret(place.client, place.remote, "db", a="1")
    ref = {"name": name, "kind": "ClusterSecretStore"}
    await place.external(objects.a_datum("a", "db"), secretStoreRef=ref)
    await place.says(EXTERNAL_SECRET, ("False", "SecretSyncedError"), "is not allowed from")

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
async def test_store_that_cannot_be_served_says_why(
    place: Place, provider: dict[str, Any], reason: str
) -> None:
    key = Key(place.namespace, "other")
    store = an_object(SECRET_STORE, key, {"provider": provider})
    await place.client.create(SECRET_STORE, store)

    async def told() -> bool:
        return await condition(place.client, SECRET_STORE, key) == ("False", reason)

    await eventually(told, f"the store says {reason}")
