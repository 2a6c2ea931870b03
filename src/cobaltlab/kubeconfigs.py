"""The one writer of kubeconfig files in the lab."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.runtime import files


def content(
    *,
    name: str,
    server: str,
    authority: bytes,
    user: str,
    credentials: Mapping[str, Any],
    namespace: str = "default",
) -> dict[str, Any]:
    """A kubeconfig with one cluster and one context, both called `name`."""
    cluster = {"server": server, "certificate-authority-data": encode(authority)}
    context = {"cluster": name, "user": user, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": dict(credentials)}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a kubeconfig atomically; only its owner can read it."""
    files.replace(path, yaml.safe_dump(content, sort_keys=False).encode(), mode=0o600)


def encode(data: bytes) -> str:
    """Encode for the `-data` fields of a kubeconfig."""
    return base64.b64encode(data).decode()
