"""OpenStack services on simulated nodes: examples in lab size, and everything that they refer to."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from cobaltcore.api import base
from cobaltcore.api.foreign import mariadb, rabbitmq
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import definitions, references
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object
from tests.support import objects, seeds, structural
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import read

PRIVATE = "p/+=rivate"
"""A password with characters that mean something in addresses."""
CEPH_KEY = "QVFCZXhhbXBsZWtleQ=="
KEK = "c29tZS1rZXktb2YtdGhpcnR5LXR3by1ieXRlcy1oZXI="
CONTENT = {
    "username": "someone",
    "password": PRIVATE,
    "host": "db.example.com",
    "application_credential_id": "5ad17e",
    "application_credential_secret": PRIVATE,
    "keyring": f"[client.x]\n\tkey = {CEPH_KEY}\n",
    "mon_host": "10.0.0.1:6789",
    "tls.crt": "certificate",
    "tls.key": PRIVATE,
    "ca.crt": "authority",
    "metadata_proxy_shared_secret": PRIVATE,
    "memcache_secret_key": PRIVATE,
    "kek": KEK,
}
"""Whatever a Secret that a spec names may have to hold."""
HYPERVISOR = "node-role.kubernetes.io/hypervisor"


def kind_of(obj: Object) -> Kind:
    """The kind of an object of ours."""
    return next(d.kind for d in base.definitions() if d.kind.kind == obj["kind"])


def documents(kind: str) -> list[Object]:
    """The examples of a kind: ours, and those of the requirements where they are at hand."""
    found = [each for each in structural.examples() if each["kind"] == kind]
    return found + [each for each in seeds.documents() if each["kind"] == kind]


def example(kind: str) -> Object:
    """Our first example of a kind."""
    return documents(kind)[0]


def lab_sized(document: Object, namespace: str, **spec: Any) -> Object:
    """An example in a namespace, with one pod of everything, on any node."""
    name = document["metadata"]["name"]
    moved = objects.moved(document, name=name, namespace=namespace)
    moved.pop("status", None)
    moved["spec"] = {**_small(moved["spec"]), **spec}
    return moved


async def environment(client: Client, obj: Object) -> None:
    """Make everything that an object refers to: Secrets, servers, and services that are Ready."""
    namespace = obj["metadata"]["namespace"]
    service = next(each for each in definitions.services() if each.kind.kind == obj["kind"])
    spec = msgspec.convert(obj, service.resource).spec
    named = {key for kind, key in references.named(namespace, spec) if kind == SECRET}
    named |= {Key(namespace, need.name) for need in service.secrets(spec)}
    for key in named:
        await client.create(SECRET, a_secret(key))
    for kind, name, block in (
        (mariadb.MARIADB, "mariadb", {"replicas": 1}),
        (rabbitmq.CLUSTER, "rabbitmq", {"replicas": 1}),
    ):
        await client.create(kind, _object(kind, Key(namespace, name), block))
    for each in spec.depends_on or ():
        await _ready(client, lab_sized(example(each.kind), namespace))


def a_secret(key: Key, **content: str) -> Object:
    """A Secret with everything in it."""
    meta = {"name": key.name, "namespace": key.namespace}
    data = {**CONTENT, **content}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": data}


def label_nodes(plane: ControlPlaneHarness) -> None:
    """Make all simulated nodes hypervisors."""
    plane.kubectl("label", "nodes", "--all", f"{HYPERVISOR}=", "--overwrite")


async def conditions(client: Client, obj: Object) -> dict[str, tuple[str, str, str]]:
    """Conditions of an object: type to status, reason and message."""
    meta = obj["metadata"]
    found = await read(client, kind_of(obj), Key(meta["namespace"], meta["name"]))
    listed = ((found or {}).get("status") or {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"], c.get("message", "")) for c in listed}


def is_ready(client: Client, obj: Object) -> Callable[[], Awaitable[bool]]:
    """Whether an object is Ready, for its newest generation."""

    async def check() -> bool:
        meta = obj["metadata"]
        found = await client.get(kind_of(obj), Key(meta["namespace"], meta["name"]))
        status = found.get("status") or {}
        ready = [c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"]
        return (
            ready == ["True"] and status["observedGeneration"] == found["metadata"]["generation"]
        )

    return check


async def _ready(client: Client, obj: Object) -> None:
    kind, meta = kind_of(obj), obj["metadata"]
    obj["spec"].pop("dependsOn", None)
    created = await client.create(kind, obj)
    generation = created["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AllChecksPass",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }
    key = Key(meta["namespace"], meta["name"])
    patch = {"status": {"conditions": [condition], "observedGeneration": generation}}
    await client.patch(kind, key, patch, subresource="status")


def _object(kind: Kind, key: Key, spec: Object) -> Object:
    meta = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": spec}


def _small(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k != "nodeSelector"}
        return {k: 1 if k == "replicas" else _small(v) for k, v in kept.items()}
    return [_small(item) for item in value] if isinstance(value, list) else value
