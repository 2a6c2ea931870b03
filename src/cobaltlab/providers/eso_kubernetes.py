"""The `kubernetes` backend: Secrets of one namespace of this cluster as a store.

A key is the name of a Secret, its properties are the data. Keys that are no valid names, such as
paths of a key-value engine, have a Secret with a derived name.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from cobaltcore.api.foreign.eso import KubernetesStore
from cobaltcore.api.foreign.kubernetes import NAMESPACE, SECRET
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object, key_of
from cobaltlab.providers.eso_stores import InvalidSettings, KeyNotFound, StoreError, Values
from cobaltlab.providers.reconciler import is_deleting

REMOTE_KEY = "c5c3.io/remote-key"
"""Annotation: the key of a Secret with a derived name."""
MANAGED = {"app.kubernetes.io/managed-by": "external-secrets"}
_VALID_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LIMIT = 253
_DIGEST_DIGITS = 10


def secret_name(key: str) -> str:
    """Name the Secret of a key: the key if it is a valid name, else a readable part and a digest.

    `<mount>/data/<path>` and `<mount>/<path>` are one key, as they are for a versioned key-value
    engine.
    """
    if len(key) <= _NAME_LIMIT and _VALID_NAME.fullmatch(key):
        return key
    path = re.sub(r"^([^/]+)/data/", r"\1/", key.strip("/"))
    parts = [re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in path.split("/")]
    readable = ".".join(part for part in parts if part)[: _NAME_LIMIT - _DIGEST_DIGITS - 1]
    digest = hashlib.sha256(path.encode()).hexdigest()[:_DIGEST_DIGITS]
    return f"{readable.strip('-.')}-{digest}".lstrip("-")


class NamespaceStore:
    """A store in a namespace of this cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    async def validate(self) -> None:
        """The namespace must exist and not be terminating: its Secrets were not deleted on purpose."""
        found = self._cluster.informer(NAMESPACE).get(Key("", self._namespace))
        if found is None or is_deleting(found):
            raise StoreError(f"the namespace {self._namespace!r} does not exist")

    async def get(self, key: str) -> Values:
        found = await self._cluster.read(SECRET, self._key(key))
        if found is None:
            raise KeyNotFound(f"Secret {self._key(key)} of the key {key!r} does not exist")
        return _values(found)

    async def get_all(self, matches: Callable[[str], bool]) -> Mapping[str, Values]:
        found = {}
        for known in self._cluster.informer(SECRET).objects(self._namespace):
            key = (known["metadata"].get("annotations") or {}).get(REMOTE_KEY)
            key = key or known["metadata"]["name"]
            secret = await self._cluster.read(SECRET, key_of(known)) if matches(key) else None
            if secret is not None:
                found[key] = _values(secret)
        return found

    async def push(self, key: str, values: Values, *, whole: bool) -> None:
        encoded = {name: base64.b64encode(value).decode() for name, value in values.items()}
        found = await self._cluster.read(SECRET, self._key(key))
        if found is None:
            await self._create(key, encoded)
            return
        before = found.get("data") or {}
        change: dict[str, str | None] = {
            name: value for name, value in encoded.items() if before.get(name) != value
        }
        if whole:
            change |= dict.fromkeys(before.keys() - encoded.keys())
        if change:
            await self._patch(found, change)

    async def delete(self, key: str, properties: Collection[str] | None) -> None:
        """Delete properties; a Secret that this store created is deleted with its last one."""
        found = await self._cluster.read(SECRET, self._key(key))
        if found is None:
            return
        before = set(found.get("data") or {})
        deleted = before if properties is None else before & set(properties)
        ours = REMOTE_KEY in (found["metadata"].get("annotations") or {})
        if ours and deleted == before:
            await self._cluster.client.delete(SECRET, key_of(found), uid=found["metadata"]["uid"])
        elif deleted:
            await self._patch(found, dict.fromkeys(deleted))

    def _key(self, key: str) -> Key:
        return Key(self._namespace, secret_name(key))

    async def _create(self, key: str, data: Mapping[str, str]) -> None:
        name = self._key(key)
        meta = {
            "name": name.name,
            "namespace": name.namespace,
            "labels": MANAGED,
            "annotations": {REMOTE_KEY: key},
        }
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        created = await self._cluster.client.create(SECRET, body)
        self._cluster.observe(SECRET, created)

    async def _patch(self, found: Object, change: Mapping[str, str | None]) -> None:
        # With the resourceVersion a write based on stale content is a conflict.
        version = found["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "data": change}
        result = await self._cluster.client.patch(SECRET, key_of(found), patch)
        self._cluster.observe(SECRET, result)


def _values(secret: Object) -> Values:
    return {name: base64.b64decode(value) for name, value in (secret.get("data") or {}).items()}


def open_store(cluster: Cluster, settings: Mapping[str, Any]) -> NamespaceStore:
    """The store of `spec.provider.kubernetes`; `auth` is not used, the provider has its own account."""
    try:
        configured = msgspec.convert(settings, KubernetesStore)
    except msgspec.ValidationError as error:
        raise InvalidSettings(f"spec.provider.kubernetes: {error}") from error
    url = (configured.server and configured.server.url) or "kubernetes.default"
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    if not (host == "kubernetes" or host.startswith("kubernetes.default")):
        raise InvalidSettings(
            f"spec.provider.kubernetes.server.url is {url!r}; the lab supports only its own cluster, "
            "https://kubernetes.default.svc"
        )
    return NamespaceStore(cluster, configured.remote_namespace or "default")
