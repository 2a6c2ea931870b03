"""Immutable ConfigMaps named by their content: a rollout is a change of name. Pure."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key


def config_map(prefix: Key, files: Mapping[str, str], labels: Mapping[str, str]) -> Desired:
    """A ConfigMap with `files`, named after `prefix` and the digest of its content."""
    name = f"{prefix.name}-{digest(files)[:8]}"
    body: dict[str, Any] = {
        "metadata": {"name": name, "namespace": prefix.namespace, "labels": dict(labels)},
        "immutable": True,
        "data": dict(files),
    }
    return Desired(CONFIG_MAP, body)
