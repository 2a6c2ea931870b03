"""The way from an object to Keystone: its Secrets, the logins, the connections of one pass."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.lab.korc import clouds, keystone
from cobaltcore.lab.korc.clouds import Cloud
from cobaltcore.lab.korc.keystone import Keystone
from cobaltcore.lab.korc.kinds import Row
from cobaltcore.lab.korc.verdict import Waiting
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.clock import Clock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object


@dataclass(frozen=True, slots=True)
class SecretValue:
    """What a Secret holds under one key, and which version of it."""

    value: str
    version: str

    def __repr__(self) -> str:
        return f"SecretValue({self.version})"


class Access:
    """Shared by the controllers of all kinds, so that they share logins."""

    def __init__(self, cluster: Cluster, clock: Clock, dial: keystone.Dial) -> None:
        self._cluster = cluster
        self._logins = keystone.Logins(clock=clock)
        self._dial = dial
        self._holding = asyncio.Lock()

    @asynccontextmanager
    async def connect(self, cloud: Cloud) -> AsyncIterator[Keystone]:
        """Keystone for the length of one pass."""
        async with self._dial(cloud) as wire:
            yield Keystone(wire, self._logins.get(cloud))

    def become(self, keystone: Keystone, cloud: Cloud) -> Keystone:
        """The same Keystone as another identity."""
        return keystone.become(self._logins.get(cloud))

    async def cloud(self, row: Row, namespace: str, reference: korc.CloudCredentialsRef) -> Cloud:
        """The cloud that an object names; its Secret is held as long as the object needs it."""
        key = Key(namespace, reference.secret_name)
        if not await self.hold(SECRET, key, row):
            raise _missing(key)
        known = await self._cluster.read(SECRET, key)
        if known is None:
            raise _missing(key)
        return clouds.read(_decoded(known), reference.cloud_name, secret=key.name)

    async def hold(self, kind: Kind, key: Key, row: Row) -> bool:
        """Keep an object from going away; False if it is too late for that.

        Many objects hold the same few, so they do it one after the other instead of in conflict.
        """
        async with self._holding:
            known = self._cluster.informer(kind).get(key)
            if known is None:
                return False
            if finalizers.present(known, row.finalizer):
                return True
            if known["metadata"].get("deletionTimestamp"):
                return False
            await finalizers.add(self._cluster, kind, known, row.finalizer)
            return True

    def version(self, namespace: str, name: str) -> str:
        """Tells the versions of a Secret's content apart; empty if there is no such Secret."""
        known = self._cluster.informer(SECRET).get(Key(namespace, name))
        return _version(known) if known is not None else ""

    async def secret(self, namespace: str, name: str, key: str) -> SecretValue:
        """One value of a Secret; Waiting if it is not there."""
        known = await self._cluster.read(SECRET, Key(namespace, name))
        if known is None:
            raise _missing(Key(namespace, name))
        value = _decoded(known).get(key, "")
        if not value:
            raise Waiting(f'Waiting for Secret/{name} to contain the key "{key}"')
        return SecretValue(value, _version(known))


def _missing(key: Key) -> Waiting:
    return Waiting(f"Waiting for Secret/{key.name} to be created")


def _version(secret: Object) -> str:
    meta = secret["metadata"]
    return f"{meta['name']}/{meta['uid']}/{meta['resourceVersion']}"


def _decoded(secret: Object) -> dict[str, str]:
    data = secret.get("data") or {}
    return {
        name: base64.b64decode(value or "").decode(errors="replace")
        for name, value in data.items()
    }
