"""Minimal objects for end-to-end tests. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

Object = dict[str, Any]

FOREVER = ["sleep", "1000000"]


def text(*objects: Mapping[str, Any]) -> str:
    """Objects as YAML documents."""
    return yaml.safe_dump_all(objects)


def pod(
    name: str,
    image: str,
    *,
    node: str = "",
    command: Sequence[str] = FOREVER,
    **spec: Any,
) -> Object:
    """A pod without termination grace period."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": pod_spec(image, node=node, command=command, **spec),
    }


def pod_spec(
    image: str, *, node: str = "", command: Sequence[str] = FOREVER, **spec: Any
) -> Object:
    volumes = spec.pop("mounts", ())
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "volumeMounts": [{"name": each["name"], "mountPath": each["path"]} for each in volumes],
        **spec.pop("container", {}),
    }
    chosen = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": each["name"], **each["source"]} for each in volumes],
        **chosen,
        **spec,
    }


def web_server(name: str, image: str, *, node: str = "", **spec: Any) -> Object:
    """A pod that serves the name of its node over HTTP."""
    script = "mkdir -p /www && echo $NODE > /www/index.html && exec httpd -f -p 8080 -h /www"
    environment = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {
        "env": [environment],
        "readinessProbe": {"httpGet": {"path": "/index.html", "port": 8080}, "periodSeconds": 1},
    }
    return pod(name, image, node=node, command=["sh", "-c", script], container=container, **spec)


def service(name: str, *, port: int, selector: Mapping[str, str], **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "selector": dict(selector),
            "ports": [{"port": port, "targetPort": spec.pop("target", port)}],
            **spec,
        },
    }


def claim(name: str, *, size: str = "10Mi") -> Object:
    """A claim of the default storage class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }


def claimed(name: str, path: str) -> Object:
    """A mount of a claim, for `mounts`."""
    return {"name": name, "path": path, "source": {"persistentVolumeClaim": {"claimName": name}}}
