"""The provider dies at each of its API calls in turn; the next one finishes the work."""

from dataclasses import dataclass

import pytest

from cobaltcore.api.foreign.eso import EXTERNAL_SECRET, PUSH_SECRET, SECRET_STORE
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from cobaltlab.providers.eso import PROVIDER
from cobaltlab.providers.eso_kubernetes import secret_name
from tests.integration.providers import eso_objects as objects
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, When
from tests.support.operating import read
from tests.support.providers import condition, content, converges_despite_crash, install


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A round trip, from its making to its end."""

    client: Client
    namespace: str
    remote: str

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def create(self) -> None:
        await objects.create_secret(self.client, self.namespace, "source", a="1", b="2")
        await self.client.create(SECRET_STORE, objects.a_store(self.namespace, self.remote))
        entries = [objects.an_entry("a", "path/one"), objects.an_entry("b", "path/two")]
        push = objects.a_push(self.namespace, *entries, deletionPolicy="Delete")
        await self.client.create(PUSH_SECRET, push)
        data = objects.a_datum("a", "path/one")
        await self.client.create(EXTERNAL_SECRET, objects.an_external(self.namespace, data))

    async def is_created(self) -> bool:
        return (
            await self._stored("path/one") == {"a": "1"}
            and await self._stored("path/two") == {"b": "2"}
            and await content(self.client, self.key("target")) == {"a": "1"}
            and await self._is_reported()
        )

    async def change(self) -> None:
        """Another value, one value less, another target."""
        await objects.change_secret(self.client, self.namespace, "source", a="3")
        patch = {"spec": {"data": [objects.an_entry("a", "path/one")]}}
        await self.client.patch(PUSH_SECRET, self.key("push"), patch)

    async def is_changed(self) -> bool:
        return (
            await self._stored("path/one") == {"a": "3"}
            and await self._stored("path/two") is None
            and await self._is_reported()
        )

    async def rename(self) -> None:
        patch = {"spec": {"target": {"name": "other"}}}
        await self.client.patch(EXTERNAL_SECRET, self.key("pull"), patch)

    async def is_renamed(self) -> bool:
        return (
            await content(self.client, self.key("other")) == {"a": "3"}
            and await content(self.client, self.key("target")) is None
            and await self._is_reported()
        )

    async def end(self) -> None:
        await self.client.delete(EXTERNAL_SECRET, self.key("pull"))
        await self.client.delete(PUSH_SECRET, self.key("push"))

    async def is_ended(self) -> bool:
        """Pushed values are deleted as the policy demands; the source stays."""
        return (
            await read(self.client, PUSH_SECRET, self.key("push")) is None
            and await self._stored("path/one") is None
            and await content(self.client, self.key("source")) == {"a": "3", "b": "2"}
        )

    async def _stored(self, key: str) -> dict[str, str] | None:
        return await content(self.client, Key(self.remote, secret_name(key)))

    async def _is_reported(self) -> bool:
        push = await self.client.get(PUSH_SECRET, self.key("push"))
        entries = (push.get("status") or {}).get("syncedPushSecrets") or {}
        recorded = [ref for each in entries.values() for ref in each]
        return (
            len(recorded) == len(push["spec"]["data"])
            and await condition(self.client, PUSH_SECRET, self.key("push")) == ("True", "Synced")
            and await condition(self.client, EXTERNAL_SECRET, self.key("pull"))
            == ("True", "SecretSynced")
        )


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    control_plane: ControlPlaneHarness, client: Client, when: When
) -> None:
    await install(client, PROVIDER)
    call, crashes = 0, True
    while crashes:
        call += 1
        namespace = control_plane.create_namespace("crash")
        lifecycle = Lifecycle(client, namespace, control_plane.create_namespace("remote"))
        steps = [
            (lifecycle.create, lifecycle.is_created),
            (lifecycle.change, lifecycle.is_changed),
            (lifecycle.rename, lifecycle.is_renamed),
            (lifecycle.end, lifecycle.is_ended),
        ]
        crashes = await converges_despite_crash(
            control_plane, steps, PROVIDER, CrashPoint(call, when)
        )
        await client.delete(SECRET_STORE, Key(namespace, "store"))
    assert call > 20, "a whole lifecycle takes more calls than that"
