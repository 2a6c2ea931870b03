"""The seam between ExternalSecrets, PushSecrets and the systems that keep their values.

A system is a Store: five methods on keys that hold properties. A new one is a module with a Store
and one line in the table of backends; controllers know nothing but this file.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    SECRET_STORE,
    SecretStoreSpec,
    StoreRef,
)
from cobaltcore.runtime import errors
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object

Values: TypeAlias = Mapping[str, bytes]
"""The properties of one key."""


class StoreProblem(errors.RuntimeFault):
    """Values cannot be read or written now.

    `retry` is for systems that cannot be watched: when to look again.
    """

    reason = "ValidationFailed"

    def __init__(self, message: str, *, retry: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry = retry


class InvalidStore(StoreProblem):
    """The store names no system that is served here."""

    reason = "InvalidStoreConfiguration"


class InvalidSettings(StoreProblem):
    """The settings of the system cannot be used."""

    reason = "InvalidProviderConfig"


class Missing(StoreProblem):
    """The store works and has no such key."""


class Store(Protocol):
    """One system with the settings of one SecretStore."""

    async def validate(self) -> None:
        """Raise a StoreProblem unless the system can be used."""
        ...

    async def get(self, key: str) -> Values:
        """All properties of a key, or Missing."""
        ...

    async def get_all(self, matches: Callable[[str], bool]) -> Mapping[str, Values]:
        """The keys that match, with their properties."""
        ...

    async def push(self, key: str, values: Values, *, whole: bool) -> None:
        """Set properties of a key; `whole`: it has no others. Nothing is sent if it is so already."""
        ...

    async def delete(self, key: str, properties: Collection[str] | None) -> None:
        """Remove properties, or the key with all of them; the last one takes the key with it."""
        ...


Backend: TypeAlias = Callable[[Cluster, Mapping[str, Any]], Store]
"""Makes the Store of a SecretStore from `spec.provider.<name>`; raises InvalidSettings."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store that may be used."""

    name: str
    """As the status of a PushSecret writes it: kind and name."""
    store: Store
    version: str
    """Changes when its settings do."""


class Stores:
    """Finds the store that an object refers to."""

    def __init__(self, cluster: Cluster, backends: Mapping[str, Backend]) -> None:
        self._cluster = cluster
        self._backends = backends

    async def open(self, ref: StoreRef, namespace: str) -> Opened:
        """The store for objects of `namespace`; a StoreProblem says why there is none."""
        clustered = ref.kind == CLUSTER_SECRET_STORE.kind
        kind = CLUSTER_SECRET_STORE if clustered else SECRET_STORE
        key = Key(namespace if kind.namespaced else "", ref.name)
        live = self._cluster.informer(kind).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            raise StoreProblem(f"could not get {kind.kind} {ref.name!r}: it does not exist")
        if not kind.namespaced:
            _check_namespace(live, namespace)
        try:
            store = self.store(live)
            await store.validate()
        except StoreProblem as problem:
            message = f"{kind.kind} {ref.name!r} is not ready: {problem.message}"
            raise StoreProblem(message, retry=problem.retry) from problem
        meta = live["metadata"]
        return Opened(f"{kind.kind}/{ref.name}", store, f"{meta['uid']}/{meta['generation']}")

    def store(self, live: Object) -> Store:
        """The system behind a SecretStore or ClusterSecretStore."""
        provider = (live.get("spec") or {}).get("provider") or {}
        served = ", ".join(sorted(self._backends))
        if len(provider) != 1:
            raise InvalidStore(f"spec.provider needs exactly one entry; served are: {served}")
        (name, settings), *_ = provider.items()
        backend = self._backends.get(name)
        if backend is None:
            raise InvalidStore(f"provider {name!r} is not served in the lab; served are: {served}")
        return backend(self._cluster, settings or {})


def index_value(ref: Mapping[str, Any], namespace: str) -> str:
    """How indexes write the store that a reference in a raw spec means."""
    clustered = ref.get("kind") == CLUSTER_SECRET_STORE.kind
    kind = CLUSTER_SECRET_STORE if clustered else SECRET_STORE
    return f"{kind.kind} {Key('' if clustered else namespace, str(ref.get('name')))}"


def _check_namespace(live: Object, namespace: str) -> None:
    name = live["metadata"]["name"]
    raw = (live.get("spec") or {}).get("conditions") or []
    if any("namespaceSelector" in each for each in raw):
        raise StoreProblem(f"{name!r}: conditions[].namespaceSelector is not served in the lab")
    try:
        allowed = manifest.spec_of(live, SecretStoreSpec).conditions
        fits = not allowed or any(
            namespace in each.namespaces
            or any(re.search(pattern, namespace) for pattern in each.namespace_regexes)
            for each in allowed
        )
    except (msgspec.ValidationError, re.error) as error:
        raise StoreProblem(f"ClusterSecretStore {name!r} has an invalid spec: {error}") from error
    if not fits:
        raise StoreProblem(
            f"using ClusterSecretStore {name!r} is not allowed from namespace {namespace!r}: "
            "denied by spec.conditions"
        )
