"""The interface between ExternalSecrets, PushSecrets and secret store backends.

A backend is a module with a Store, five methods on keys that hold properties, and one line in the
table of backends.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    SECRET_STORE,
    SecretStoreSpec,
    StoreRef,
)
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.reconciler import is_deleting

Values: TypeAlias = Mapping[str, bytes]
"""The properties of one key."""


class StoreError(Blocked):
    """Values cannot be read or written; `after` is for backends that cannot be watched."""


class InvalidStore(StoreError):
    """The store names no supported backend."""

    reason = "InvalidStoreConfiguration"


class InvalidSettings(StoreError):
    """The settings of the backend cannot be used."""

    reason = "InvalidProviderConfig"


class KeyNotFound(StoreError):
    """The store works and has no such key."""


class Store(Protocol):
    """A backend with the settings of one SecretStore."""

    async def validate(self) -> None:
        """Raise a StoreError unless the backend can be used."""
        ...

    async def get(self, key: str) -> Values:
        """All properties of a key; raises KeyNotFound."""
        ...

    async def get_all(self, matches: Callable[[str], bool]) -> Mapping[str, Values]:
        """The keys that match, with their properties."""
        ...

    async def push(self, key: str, values: Values, *, whole: bool) -> None:
        """Set properties of a key, with `whole` remove all others; no request without a change."""
        ...

    async def delete(self, key: str, properties: Collection[str] | None) -> None:
        """Delete properties, or the key; deleting the last property deletes the key."""
        ...


Backend: TypeAlias = Callable[[Cluster, Mapping[str, Any]], Store]
"""Creates a Store from `spec.provider.<name>` of a SecretStore; raises InvalidSettings."""


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A validated store."""

    name: str
    """As the status of a PushSecret writes it: kind and name."""
    store: Store
    version: str
    """Changes with the settings."""


class Stores:
    """Opens the store that an object refers to."""

    def __init__(self, cluster: Cluster, backends: Mapping[str, Backend]) -> None:
        self._cluster = cluster
        self._backends = backends

    async def open(self, ref: StoreRef, namespace: str) -> OpenStore:
        """The store for objects of `namespace`; raises StoreError."""
        clustered = ref.kind == CLUSTER_SECRET_STORE.kind
        kind = CLUSTER_SECRET_STORE if clustered else SECRET_STORE
        key = Key(namespace if kind.namespaced else "", ref.name)
        live = self._cluster.informer(kind).get(key)
        if live is None or is_deleting(live):
            raise StoreError(f"could not get {kind.kind} {ref.name!r}: it does not exist")
        if not kind.namespaced:
            _check_namespace(live, namespace)
        try:
            store = self.store(live)
            await store.validate()
        except StoreError as error:
            message = f"{kind.kind} {ref.name!r} is not ready: {error.message}"
            raise StoreError(message, after=error.after) from error
        meta = live["metadata"]
        return OpenStore(f"{kind.kind}/{ref.name}", store, f"{meta['uid']}/{meta['generation']}")

    def store(self, live: Object) -> Store:
        """The store of a SecretStore or ClusterSecretStore."""
        provider = (live.get("spec") or {}).get("provider") or {}
        supported = ", ".join(sorted(self._backends))
        if len(provider) != 1:
            raise InvalidStore(
                f"spec.provider has {len(provider)} entries; set exactly one of: {supported}"
            )
        (name, settings), *_ = provider.items()
        backend = self._backends.get(name)
        if backend is None:
            raise InvalidStore(
                f"spec.provider.{name} is not supported in the lab; use one of: {supported}"
            )
        return backend(self._cluster, settings or {})


def index_value(ref: Mapping[str, Any], namespace: str) -> str:
    """The store that a reference in a raw spec names, as indexes write it."""
    clustered = ref.get("kind") == CLUSTER_SECRET_STORE.kind
    kind = CLUSTER_SECRET_STORE if clustered else SECRET_STORE
    return f"{kind.kind} {Key('' if clustered else namespace, str(ref.get('name')))}"


def _check_namespace(live: Object, namespace: str) -> None:
    name = live["metadata"]["name"]
    raw = (live.get("spec") or {}).get("conditions") or []
    if any("namespaceSelector" in each for each in raw):
        raise StoreError(
            f"{name!r}: spec.conditions[].namespaceSelector is not supported in the lab"
        )
    try:
        allowed = manifest.spec_of(live, SecretStoreSpec).conditions
        matches = not allowed or any(
            namespace in each.namespaces
            or any(re.search(pattern, namespace) for pattern in each.namespace_regexes)
            for each in allowed
        )
    except (msgspec.ValidationError, re.error) as error:
        raise StoreError(f"ClusterSecretStore {name!r} has an invalid spec: {error}") from error
    if not matches:
        raise StoreError(
            f"using ClusterSecretStore {name!r} is not allowed from namespace {namespace!r}: "
            "denied by spec.conditions"
        )
