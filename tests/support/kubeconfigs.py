"""Builders of kubeconfig files and exec plugins."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import yaml

EXEC_V1 = "client.authentication.k8s.io/v1"


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def a_kubeconfig(
    path: Path,
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    name: str = "lab",
    contexts: list[dict[str, Any]] | None = None,
    current_context: str | None = None,
) -> Path:
    """Write a kubeconfig whose one cluster, user and context share a name."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name if current_context is None else current_context,
        "clusters": [
            {"name": name, "cluster": {"server": "https://127.0.0.1:6443"} | (cluster or {})}
        ],
        "users": [{"name": name, "user": user or {}}],
        "contexts": contexts or [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def a_plugin(
    path: Path, status: dict[str, Any], *, version: str = EXEC_V1, shell: str = ""
) -> Path:
    """Write a program that prints an ExecCredential and counts its runs in `<path>.runs`."""
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    answer = path.with_suffix(".json")
    answer.write_bytes(msgspec.json.encode(credential))
    lines = ["#!/bin/sh", f'echo "$KUBERNETES_EXEC_INFO" >> "{path}.runs"', shell]
    path.write_text("\n".join([*lines, f'exec cat "{answer}"', ""]))
    path.chmod(0o755)
    return path


def runs(plugin: Path) -> list[dict[str, Any]]:
    """The input of the plugin, run by run."""
    log = Path(f"{plugin}.runs")
    return (
        [msgspec.json.decode(line) for line in log.read_text().splitlines()]
        if log.exists()
        else []
    )
