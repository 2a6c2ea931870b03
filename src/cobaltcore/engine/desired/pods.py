"""Parts of a pod: containers, settings of the user, restricted rights. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cobaltcore.api.blocks import Image, ServiceSpec
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.mounts import Mount as Mount
from cobaltcore.runtime.meta import Object

STATE_DIR = "/var/lib/openstack-state"
SCRATCH = ("/tmp", STATE_DIR)  # noqa: S108 an empty volume of the pod


@dataclass(frozen=True, slots=True)
class Rights:
    """What a container may do beyond running as an unprivileged user."""

    escalate: bool = False
    """Its programs may become root inside the container."""
    privileged: bool = False
    """It is root and may do to the node what it likes."""

    def context(self) -> Object:
        """The container's security context."""
        if self.privileged:
            return {"privileged": True, "readOnlyRootFilesystem": True}
        if self.escalate:
            return {"allowPrivilegeEscalation": True, "readOnlyRootFilesystem": True}
        return {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }


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
    """Variables from Secrets: variable to name and key."""
    field_environment: Mapping[str, str] = field(default_factory=dict)
    """Variables from the pod itself: variable to field."""
    port: int = 0
    probes: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    pre_stop_sleep: int = 0
    rights: Rights = Rights()

    def body(self) -> Object:
        """The container as Kubernetes wants it."""
        scratch = [{"name": _scratch(path), "mountPath": path} for path in SCRATCH]
        found: Object = {
            "name": self.name,
            "image": reference(self.image),
            "command": list(self.command),
            "env": self._variables(),
            "volumeMounts": [*(mount.mount() for mount in self.mounts), *scratch],
            "securityContext": self.rights.context(),
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

    def _variables(self) -> list[Object]:
        sources: dict[str, Object] = {
            variable: {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
            for variable, path in self.field_environment.items()
        }
        for variable, (name, key) in self.secret_environment.items():
            sources[variable] = {"secretKeyRef": {"name": name, "key": key}}
        return [
            *({"name": k, "value": v} for k, v in sorted(self.environment.items())),
            *({"name": k, "valueFrom": v} for k, v in sorted(sources.items())),
        ]


def template(
    containers: Sequence[Container],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    settings: Mapping[str, Any],
    prepare: Sequence[Container] = (),
) -> Object:
    """A pod template: no token, scratch space, nothing else writable; unprivileged by default."""
    mounts = {mount.name: mount for each in (*prepare, *containers) for mount in each.mounts}
    volumes = [mount.volume() for mount in mounts.values()]
    volumes += [{"name": _scratch(path), "emptyDir": {}} for path in SCRATCH]
    is_root = any(each.rights.privileged for each in (*prepare, *containers))
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsUser": 0, "runAsGroup": 0} if is_root else _UNPRIVILEGED,
        "containers": [each.body() for each in containers],
        "volumes": volumes,
        **settings,
    }
    if prepare:
        spec["initContainers"] = [each.body() for each in prepare]
    return {"metadata": {"labels": dict(labels), "annotations": dict(annotations)}, "spec": spec}


_UNPRIVILEGED = {
    "runAsNonRoot": True,
    "runAsUser": names.USER_ID,
    "runAsGroup": names.USER_ID,
    "fsGroup": names.USER_ID,
    "seccompProfile": {"type": "RuntimeDefault"},
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


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _scratch(path: str) -> str:
    return "scratch" + path.replace("/", "-")
