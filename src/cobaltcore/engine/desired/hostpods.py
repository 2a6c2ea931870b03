"""Pods that are part of a node: they use its network, its directories and its devices. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.api.pods import PodSettings, PullSecret
from cobaltcore.engine.desired import pods
from cobaltcore.engine.desired.pods import Mount
from cobaltcore.runtime.meta import Object

HYPERVISOR = "node-role.kubernetes.io/hypervisor"
CRITICAL = "system-node-critical"


@dataclass(frozen=True, slots=True)
class HostPath:
    """A directory of the node; it is made if it is not there."""

    name: str
    path: str
    mounted: str = ""
    """Where containers see it; empty: at the same place."""
    propagation: Literal["None", "HostToContainer", "Bidirectional"] = "None"
    type: str = "DirectoryOrCreate"
    read_only: bool = False

    def volume(self) -> Object:
        """The pod's side of it."""
        return {"name": self.name, "hostPath": {"path": self.path, "type": self.type}}

    def mount(self) -> Object:
        """The container's side of it."""
        found: Object = {"name": self.name, "mountPath": self.mounted or self.path}
        if self.propagation != "None":
            found["mountPropagation"] = self.propagation
        if self.read_only:
            found["readOnly"] = True
        return found


@dataclass(frozen=True, slots=True)
class Scratch:
    """An empty directory that goes with the pod."""

    name: str
    path: str

    def volume(self) -> Object:
        """The pod's side of it."""
        return {"name": self.name, "emptyDir": {}}

    def mount(self) -> Object:
        """The container's side of it."""
        return {"name": self.name, "mountPath": self.path}


Volume = HostPath | Scratch | Mount


@dataclass(frozen=True, slots=True)
class Container:
    """A program that runs as root, with all rights over the node or a few."""

    name: str
    image: Image
    command: Sequence[str]
    volumes: Sequence[Volume] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    node_environment: Mapping[str, str] = field(default_factory=dict)
    """Variables from fields of the pod: variable to path, for example spec.nodeName."""
    capabilities: Sequence[str] | None = None
    """Rights beyond those of a plain process; None: all."""
    probes: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> Object:
        """The container as Kubernetes wants it."""
        given = [
            {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
            for name, path in sorted(self.node_environment.items())
        ]
        plain = [{"name": k, "value": v} for k, v in sorted(self.environment.items())]
        return {
            "name": self.name,
            "image": pods.reference(self.image),
            "command": list(self.command),
            "env": [*plain, *given],
            "volumeMounts": [each.mount() for each in self.volumes],
            "securityContext": self._rights(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            **({"resources": dict(self.resources)} if self.resources else {}),
            **self.probes,
        }

    def _rights(self) -> Object:
        if self.capabilities is None:
            return {"privileged": True, "runAsUser": 0}
        return {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": list(self.capabilities)},
        }


def template(
    containers: Sequence[Container],
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    settings: Mapping[str, Any],
) -> Object:
    """A pod in the node's network; names of the cluster resolve as in any other pod."""
    volumes = {each.name: each for one in containers for each in one.volumes}
    return {
        "metadata": {"labels": dict(labels), "annotations": dict(annotations)},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostNetwork": True,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "containers": [each.body() for each in containers],
            "volumes": [each.volume() for each in volumes.values()],
            **settings,
        },
    }


def placement(settings: PodSettings, pull_secrets: Sequence[PullSecret] | None) -> dict[str, Any]:
    """Hypervisors, whatever taints they carry: a node without its daemons is no hypervisor."""
    tolerations: Any = [{"operator": "Exists"}]
    if settings.tolerations is not None:
        tolerations = msgspec.to_builtins(settings.tolerations)
    found: dict[str, Any] = {
        "nodeSelector": dict(settings.node_selector or {HYPERVISOR: ""}),
        "tolerations": tolerations,
        "priorityClassName": settings.priority_class_name or CRITICAL,
    }
    if pull_secrets:
        found["imagePullSecrets"] = msgspec.to_builtins(pull_secrets)
    return found


def asked(command: Sequence[str], *, startup_seconds: int = 120) -> dict[str, Any]:
    """Probes that run one command: often while the program starts, seldom later.

    A program that ends is noticed without them, and each costs more than what it asks.
    """
    run = {"exec": {"command": list(command)}, "timeoutSeconds": 10}
    return {
        "startupProbe": {**run, "periodSeconds": 1, "failureThreshold": startup_seconds},
        "readinessProbe": {**run, "periodSeconds": 30, "failureThreshold": 3},
    }
