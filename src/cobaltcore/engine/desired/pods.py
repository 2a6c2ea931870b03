"""Parts of a pod: containers, mounts, settings of the user, restricted rights. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cobaltcore.api.blocks import Image, ServiceSpec
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Object

SCRATCH = ("/tmp", "/var/lib/openstack-state")  # noqa: S108 an empty volume of the pod


@dataclass(frozen=True, slots=True)
class Mount:
    """A Secret or ConfigMap as files."""

    name: str
    path: str
    secret: str = ""
    config_map: str = ""
    mode: int = 0o440

    def volume(self) -> Object:
        """The pod's side of it."""
        if self.secret:
            return {
                "name": self.name,
                "secret": {"secretName": self.secret, "defaultMode": self.mode},
            }
        return {
            "name": self.name,
            "configMap": {"name": self.config_map, "defaultMode": self.mode},
        }

    def mount(self) -> Object:
        """The container's side of it."""
        return {"name": self.name, "mountPath": self.path, "readOnly": True}


@dataclass(frozen=True, slots=True)
class Container:
    """A program and what it reads."""

    name: str
    image: Image
    command: Sequence[str]
    mounts: Sequence[Mount] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    environment_secret: str = ""
    secret_environment: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    port: int = 0
    probes: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    pre_stop_sleep: int = 0

    def body(self) -> Object:
        """The container as Kubernetes wants it."""
        scratch = [{"name": _scratch(path), "mountPath": path} for path in SCRATCH]
        found: Object = {
            "name": self.name,
            "image": reference(self.image),
            "command": list(self.command),
            "env": [
                *({"name": k, "value": v} for k, v in sorted(self.environment.items())),
                *(_from_secret(k, *v) for k, v in sorted(self.secret_environment.items())),
            ],
            "volumeMounts": [*(mount.mount() for mount in self.mounts), *scratch],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            **self.probes,
        }
        if self.resources:
            found["resources"] = self.resources
        if self.environment_secret:
            found["envFrom"] = [{"secretRef": {"name": self.environment_secret}}]
        if self.port:
            found["ports"] = [{"name": "api", "containerPort": self.port, "protocol": "TCP"}]
        if self.pre_stop_sleep:
            found["lifecycle"] = {"preStop": {"sleep": {"seconds": self.pre_stop_sleep}}}
        return found


def template(
    containers: Sequence[Container],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    settings: Mapping[str, Any],
) -> Object:
    """A pod template: an unprivileged user, no token, scratch space, and nothing else writable."""
    mounts = {mount.name: mount for each in containers for mount in each.mounts}
    volumes = [mount.volume() for mount in mounts.values()]
    volumes += [{"name": _scratch(path), "emptyDir": {}} for path in SCRATCH]
    return {
        "metadata": {"labels": dict(labels), "annotations": dict(annotations)},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": names.USER_ID,
                "runAsGroup": names.USER_ID,
                "fsGroup": names.USER_ID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [each.body() for each in containers],
            "volumes": volumes,
            **settings,
        },
    }


def placement(spec: ServiceSpec, workload: PodSettings | None = None) -> dict[str, Any]:
    """Where pods run: what the workload says, else what the service says."""
    layers = [each for each in (workload, spec) if each is not None]
    found: dict[str, Any] = {}
    if spec.image_pull_secrets:
        found["imagePullSecrets"] = msgspec.to_builtins(spec.image_pull_secrets)
    for wire, field_name in (
        ("nodeSelector", "node_selector"),
        ("tolerations", "tolerations"),
        ("priorityClassName", "priority_class_name"),
    ):
        value = _first(getattr(layer, field_name) for layer in layers)
        if value is not None:
            found[wire] = msgspec.to_builtins(value)
    return found


def resources(default: Mapping[str, Any], *layers: PodSettings | None) -> Mapping[str, Any]:
    """CPU and memory: the first layer that says anything, else a tested size."""
    chosen = _first(layer.resources for layer in layers if layer is not None)
    built: Mapping[str, Any] = msgspec.to_builtins(chosen) if chosen is not None else default
    return built


def reference(image: Image) -> str:
    """An image as containers name it."""
    return (
        f"{image.repository}@{image.digest}" if image.digest else f"{image.repository}:{image.tag}"
    )


def _from_secret(variable: str, name: str, key: str) -> Object:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _scratch(path: str) -> str:
    return "scratch" + path.replace("/", "-")
