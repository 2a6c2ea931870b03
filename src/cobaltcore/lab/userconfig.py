"""The lab as a context in the user's own kubeconfig: added or removed, everything else kept."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cobaltcore.lab import errors, home
from cobaltcore.runtime import files

_LISTS = ("clusters", "users", "contexts")


def target(environment: Mapping[str, str]) -> Path:
    """The file that kubectl would change: the first of $KUBECONFIG, or ~/.kube/config."""
    first = environment.get("KUBECONFIG", "").split(":")[0]
    return Path(first) if first else Path(environment.get("HOME", "/root")) / ".kube" / "config"


def context_name(place: home.Home) -> str:
    """The name of the lab's context, cluster and user in a kubeconfig of others."""
    return f"cobalt-{place.name}"


def merge(place: home.Home, path: Path) -> None:
    """Add or renew the lab's context; it becomes the current one only if there is none."""
    name = context_name(place)
    content = _without(_read(path), name)
    lab = _read(place.kubeconfig)
    user = {"name": name, "user": lab["users"][0]["user"]}
    cluster = {"name": name, "cluster": lab["clusters"][0]["cluster"]}
    context = {"name": name, "context": {"cluster": name, "user": name}}
    for key, entry in zip(_LISTS, (cluster, user, context), strict=True):
        content[key] = [*(content.get(key) or []), entry]
    content.setdefault("apiVersion", "v1")
    content.setdefault("kind", "Config")
    content["current-context"] = content.get("current-context") or name
    _write(path, content)


def forget(place: home.Home, path: Path) -> None:
    """Remove the lab's context, cluster and user."""
    if not path.exists():
        return
    name = context_name(place)
    content = _without(_read(path), name)
    if content.get("current-context") == name:
        content["current-context"] = ""
    _write(path, content)


def _without(content: dict[str, Any], name: str) -> dict[str, Any]:
    kept = {
        key: [entry for entry in content.get(key) or [] if entry.get("name") != name]
        for key in _LISTS
        if key in content
    }
    return {**content, **kept}


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    hint = "repair the file, or leave out --merge-kubeconfig"
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise errors.LabError(f"{path} is not YAML; it was left as it is", hint=hint) from error
    if not isinstance(content, dict) or content.get("kind", "Config") != "Config":
        raise errors.LabError(f"{path} is not a kubeconfig; it was left as it is", hint=hint)
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    # Through links, as people keep such files elsewhere.
    path = path.resolve()
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700)
        _give(path.parent, like=path.parent.parent)
    existed = path.stat() if path.exists() else None
    files.replace(path, yaml.safe_dump(content, sort_keys=False).encode(), mode=0o600)
    if existed:
        os.chown(path, existed.st_uid, existed.st_gid)
    else:
        _give(path, like=path.parent)


def _give(path: Path, *, like: Path) -> None:
    """Let what root made under somebody's home be theirs."""
    owner = like.stat()
    os.chown(path, owner.st_uid, owner.st_gid)
