"""Manifests from a file, and what `kubectl apply` would send for them."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cobaltcore.cli import errors
from cobaltcore.runtime import errors as runtime_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.dryrun import DryRunClient
from cobaltcore.runtime.meta import Kind, Object, key_of

MANAGER = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def read(name: str, namespace: str) -> list[Object]:
    """All manifests of a file, or of standard input for `-`."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CommandError(f"{name} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise errors.CommandError(f"{name} is not valid YAML: {error}") from error
    found = [item for each in documents for item in _items(name, each)]
    if not found:
        raise errors.CommandError(f"{name} has no object in it")
    return [_checked(name, each, namespace) for each in found]


def _items(name: str, document: Any) -> Iterator[Any]:
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        yield from document.get("items") or ()
    else:
        yield document


def _checked(name: str, obj: Any, namespace: str) -> Object:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise errors.CommandError(f"{name}: an object has no metadata.name")
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str):
            raise errors.CommandError(f"{name}: object {metadata['name']!r} has no {field}")
    return {**obj, "metadata": {"namespace": namespace, **metadata}}


async def kind_of(client: Client, obj: Object) -> Kind:
    """The served kind of a manifest."""
    version, name = obj["apiVersion"], obj["kind"]
    group, slash, short = version.rpartition("/")
    try:
        answer = await client.raw(f"/apis/{version}" if slash else f"/api/{version}")
    except runtime_errors.NotFound:
        answer = b'{"resources": []}'
    for each in msgspec.json.decode(answer)["resources"]:
        if each["kind"] == name and "/" not in each["name"]:
            return Kind(group, short, name, each["name"], each["namespaced"])
    raise errors.CommandError(
        f"the API server does not serve {name} ({version})",
        hint="install the CRDs: cobalt crds | kubectl apply --server-side -f -",
    )


async def apply(client: DryRunClient, kind: Kind, manifest: Object) -> None:
    """What kubectl would do: with its annotation a merge of three versions, otherwise on the server."""
    obj = manifest if kind.namespaced else _without_namespace(manifest)
    live = await client.current(kind, key_of(obj))
    notes = ((live or {}).get("metadata") or {}).get("annotations") or {}
    if live is None or LAST_APPLIED not in notes:
        await client.apply(kind, obj, manager=MANAGER)
        return
    original = msgspec.json.decode(notes[LAST_APPLIED])
    # Kubectl writes the annotation that it reads here: annotations are never dropped as a whole.
    wanted = {**obj, "metadata": {"annotations": {}, **obj["metadata"]}}
    await client.apply_merge(kind, key_of(obj), three_way(original, wanted, live))


def three_way(
    original: Mapping[str, Any], modified: Mapping[str, Any], live: Mapping[str, Any]
) -> dict[str, Any]:
    """A merge patch: what the file sets and is not so, and what it has stopped to set."""
    patch: dict[str, Any] = {name: None for name in original if name not in modified}
    for name, value in modified.items():
        known = live.get(name)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            before = original.get(name)
            inner = three_way(before if isinstance(before, Mapping) else {}, value, known)
            if inner:
                patch[name] = inner
        elif value != known:
            patch[name] = value
    return patch


def _without_namespace(obj: Object) -> Object:
    meta = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
    return {**obj, "metadata": meta}
