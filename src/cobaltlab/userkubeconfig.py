"""Adds the context of a lab to the user's own kubeconfig, or removes it; keeps everything else."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cobaltlab import errors, kubeconfigs, statedir

_LISTS = ("clusters", "users", "contexts")


def path(environment: Mapping[str, str]) -> Path:
    """The file that kubectl would write: the first in $KUBECONFIG, or ~/.kube/config."""
    first = environment.get("KUBECONFIG", "").split(":")[0]
    return Path(first) if first else Path(environment.get("HOME", "/root")) / ".kube" / "config"


def context_name(state_dir: statedir.StateDir) -> str:
    """The name of the lab's context, cluster and user."""
    return f"cobalt-{state_dir.name}"


def merge(state_dir: statedir.StateDir, path: Path) -> None:
    """Add or update the lab's context; it becomes the current one only if none is set."""
    name = context_name(state_dir)
    content = _without(_read(path), name)
    lab = _read(state_dir.kubeconfig)
    user = {"name": name, "user": lab["users"][0]["user"]}
    cluster = {"name": name, "cluster": lab["clusters"][0]["cluster"]}
    context = {"name": name, "context": {"cluster": name, "user": name}}
    for key, entry in zip(_LISTS, (cluster, user, context), strict=True):
        content[key] = [*(content.get(key) or []), entry]
    content.setdefault("apiVersion", "v1")
    content.setdefault("kind", "Config")
    content["current-context"] = content.get("current-context") or name
    _write(path, content)


def remove(state_dir: statedir.StateDir, path: Path) -> None:
    """Remove the lab's context, cluster and user."""
    if not path.exists():
        return
    name = context_name(state_dir)
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
    hint = "fix the file, or omit --merge-kubeconfig"
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise errors.LabError(
            f"{path} is not valid YAML; it was not changed", hint=hint
        ) from error
    if not isinstance(content, dict) or content.get("kind", "Config") != "Config":
        raise errors.LabError(f"{path} is not a kubeconfig; it was not changed", hint=hint)
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    # Follow symbolic links, as people keep such files elsewhere.
    path = path.resolve()
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700)
        _chown(path.parent, like=path.parent.parent)
    existed = path.stat() if path.exists() else None
    kubeconfigs.write(path, content)
    if existed:
        os.chown(path, existed.st_uid, existed.st_gid)
    else:
        _chown(path, like=path.parent)


def _chown(path: Path, *, like: Path) -> None:
    """Give a file that root created in a home directory to its user."""
    owner = like.stat()
    os.chown(path, owner.st_uid, owner.st_gid)
