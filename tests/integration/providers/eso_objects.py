"""Objects of ESO as tests write them."""

from typing import Any

from cobaltcore.api.foreign.eso import (
    CLUSTER_SECRET_STORE,
    EXTERNAL_SECRET,
    PUSH_SECRET,
    SECRET_STORE,
)
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Object
from tests.support.providers import an_object

PATH = "kv-v2/data/openstack/k-orc/app-credential"


def kubernetes(remote: str) -> dict[str, Any]:
    return {
        "kubernetes": {
            "remoteNamespace": remote,
            "server": {
                "url": "https://kubernetes.default.svc",
                "caProvider": {"type": "ConfigMap", "name": "kube-root-ca.crt", "key": "ca.crt"},
            },
            "auth": {"serviceAccount": {"name": "store"}},
        }
    }


def a_store(namespace: str, remote: str, name: str = "store") -> Object:
    return an_object(SECRET_STORE, Key(namespace, name), {"provider": kubernetes(remote)})


def a_cluster_store(name: str, remote: str, **spec: Any) -> Object:
    fields = {"provider": kubernetes(remote), **spec}
    return an_object(CLUSTER_SECRET_STORE, Key("", name), fields)


def a_push(namespace: str, *data: Any, **spec: Any) -> Object:
    entries = data or (an_entry("clouds.yaml"),)
    fields = {
        "secretStoreRefs": [{"name": "store", "kind": "SecretStore"}],
        "selector": {"secret": {"name": "source"}},
        "data": list(entries),
        **spec,
    }
    return an_object(PUSH_SECRET, Key(namespace, "push"), fields)


def an_entry(name: str | None, key: str = PATH, property_: str | None = "") -> dict[str, Any]:
    """`property_` defaults to the key of the Secret."""
    ref: dict[str, Any] = {"remoteKey": key}
    if property_ == "":
        property_ = name
    if property_ is not None:
        ref["property"] = property_
    return {"match": {"remoteRef": ref, **({"secretKey": name} if name else {})}}


def an_external(namespace: str, *data: Any, name: str = "pull", **spec: Any) -> Object:
    entries = data or (a_datum("clouds.yaml"),)
    fields = {
        "refreshInterval": "1h",
        "secretStoreRef": {"name": "store", "kind": "SecretStore"},
        "target": {"name": "target"},
        "data": list(entries),
        **spec,
    }
    return an_object(EXTERNAL_SECRET, Key(namespace, name), fields)


def a_datum(name: str, key: str = PATH, property_: str | None = None) -> dict[str, Any]:
    return {"secretKey": name, "remoteRef": {"key": key, "property": property_ or name}}


async def create_secret(client: Client, namespace: str, name: str, **data: str) -> None:
    """Underscores in names become dots."""
    meta = {"name": name, "namespace": namespace}
    content = {key.replace("_", "."): value for key, value in data.items()}
    await client.create(SECRET, {"metadata": meta, "stringData": content})


async def change_secret(client: Client, namespace: str, name: str, **data: str) -> None:
    content = {key.replace("_", "."): value for key, value in data.items()}
    await client.patch(SECRET, Key(namespace, name), {"stringData": content})
