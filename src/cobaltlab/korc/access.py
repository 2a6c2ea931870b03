"""Access from objects to Keystone: Secrets, shared logins, connections."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.clock import Clock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltlab.korc import clouds, keystone
from cobaltlab.korc.clouds import Cloud
from cobaltlab.korc.keystone import Keystone
from cobaltlab.korc.kinds import Row
from cobaltlab.providers.failures import Waiting


@dataclass(frozen=True, slots=True)
class SecretValue:
    """One value of a Secret and the version of the Secret."""

    value: str
    version: str

    def __repr__(self) -> str:
        return f"SecretValue({self.version})"


class Access:
    """Shared by the controllers of all kinds, and with it their logins."""

    def __init__(self, cluster: Cluster, clock: Clock, connect: keystone.Connect) -> None:
        self._cluster = cluster
        self._logins = keystone.Logins(clock=clock)
        self._connect = connect
        self._hold_lock = asyncio.Lock()

    @asynccontextmanager
    async def connect(self, cloud: Cloud) -> AsyncIterator[Keystone]:
        """A client of Keystone for one reconcile."""
        async with self._connect(cloud) as transport:
            yield Keystone(transport, self._logins.get(cloud))

    def as_identity(self, keystone: Keystone, cloud: Cloud) -> Keystone:
        """The same connection with the identity of another cloud."""
        return keystone.with_login(self._logins.get(cloud))

    async def cloud(self, row: Row, namespace: str, reference: korc.CloudCredentialsRef) -> Cloud:
        """The cloud that an object names; its Secret gets a finalizer of the object's kind."""
        key = Key(namespace, reference.secret_name)
        if not await self.hold(SECRET, key, row):
            raise _missing(key)
        found = await self._cluster.read(SECRET, key)
        if found is None:
            raise _missing(key)
        return clouds.read(_decoded(found), reference.cloud_name, secret=key.name)

    async def hold(self, kind: Kind, key: Key, row: Row) -> bool:
        """Add our finalizer to a dependency; False if it is missing or being deleted.

        Many objects share few dependencies: the lock avoids conflicts between their updates.
        """
        async with self._hold_lock:
            found = self._cluster.informer(kind).get(key)
            if found is None:
                return False
            if finalizers.present(found, row.finalizer):
                return True
            if found["metadata"].get("deletionTimestamp"):
                return False
            await finalizers.add(self._cluster, kind, found, row.finalizer)
            return True

    def version(self, namespace: str, name: str) -> str:
        """The version of a Secret's content; empty if there is no such Secret."""
        found = self._cluster.informer(SECRET).get(Key(namespace, name))
        return _version(found) if found is not None else ""

    async def secret(self, namespace: str, name: str, key: str) -> SecretValue:
        """One value of a Secret; raises Waiting if it is missing."""
        found = await self._cluster.read(SECRET, Key(namespace, name))
        if found is None:
            raise _missing(Key(namespace, name))
        value = _decoded(found).get(key, "")
        if not value:
            raise Waiting(f'Waiting for Secret/{name} to contain the key "{key}"')
        return SecretValue(value, _version(found))


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
