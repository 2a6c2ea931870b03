"""Containers of pods: program, environment, volumes, probes, rights. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.api.pods import PodSettings, Resources
from cobaltcore.engine.desired.probes import Probes
from cobaltcore.engine.desired.volumes import EmptyDir, Volume
from cobaltcore.runtime.meta import Object

STATE_DIR = "/var/lib/openstack-state"
SCRATCH = (
    Volume("scratch-tmp", "/tmp"),  # noqa: S108 an empty volume of the pod
    # Whole images are converted here.
    Volume("scratch-var-lib-openstack-state", STATE_DIR, EmptyDir("100Gi")),
)


@dataclass(frozen=True, slots=True)
class PodField:
    """The value of an environment variable: a field of the pod, for example spec.nodeName."""

    path: str

    def body(self) -> Object:
        return {"fieldRef": {"apiVersion": "v1", "fieldPath": self.path}}


@dataclass(frozen=True, slots=True)
class Port:
    """A port by its name."""

    name: str
    number: int
    protocol: Literal["TCP", "UDP"] = "TCP"

    def body(self) -> Object:
        return {"name": self.name, "containerPort": self.number, "protocol": self.protocol}


@dataclass(frozen=True, slots=True)
class SecurityContext:
    """What a container may do; by default as little as possible."""

    level: Literal["unprivileged", "escalating", "root", "privileged"] = "unprivileged"
    """`escalating`: its programs may become root. `root`: root with the named capabilities only.
    `privileged`: root with all rights over the node."""
    capabilities: Sequence[str] = ()
    writable_root: bool = False
    """Whether the root file system is writable. If not, the container gets scratch directories."""

    @property
    def is_root(self) -> bool:
        return self.level in ("root", "privileged")

    def body(self) -> Object:
        found: Object = {} if self.writable_root else {"readOnlyRootFilesystem": True}
        if self.level == "privileged":
            return {"privileged": True, **found}
        if self.level == "escalating":
            return {"allowPrivilegeEscalation": True, **found}
        capabilities: Object = {"drop": ["ALL"]}
        if self.capabilities:
            capabilities["add"] = list(self.capabilities)
        return {"allowPrivilegeEscalation": False, "capabilities": capabilities, **found}


@dataclass(frozen=True, slots=True)
class Container:
    """A program and what it needs."""

    name: str
    image: Image
    command: Sequence[str] = ()
    """Empty: the entrypoint of the image."""
    arguments: Sequence[str] = ()
    volumes: Sequence[Volume] = ()
    environment: Mapping[str, str | PodField] = field(default_factory=dict)
    """Without secrets, which programs read from files: who may exec or debug reads variables."""
    ports: Sequence[Port] = ()
    probes: Probes = field(default_factory=Probes)
    resources: Resources | None = None
    security: SecurityContext = SecurityContext()
    pre_stop_sleep_seconds: int = 0
    pull_policy: Literal["", "IfNotPresent", "Never"] = ""

    @property
    def mounts(self) -> list[Volume]:
        """Its volumes, with the scratch directories of a read-only root file system."""
        return [*self.volumes, *(() if self.security.writable_root else SCRATCH)]

    def body(self) -> Object:
        """The container as Kubernetes wants it."""
        found: Object = {
            "name": self.name,
            "image": reference(self.image),
            "env": self._environment(),
            "volumeMounts": [each.mount() for each in self.mounts],
            "securityContext": self.security.body(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            **self.probes.body(),
        }
        return found | {name: value for name, value in self._optional().items() if value}

    def _optional(self) -> Object:
        sleep = self.pre_stop_sleep_seconds
        return {
            "command": list(self.command),
            "args": list(self.arguments),
            "imagePullPolicy": self.pull_policy,
            "resources": msgspec.to_builtins(self.resources),
            "ports": [each.body() for each in self.ports],
            "lifecycle": {"preStop": {"sleep": {"seconds": sleep}}} if sleep else None,
        }

    def _environment(self) -> list[Object]:
        """Plain values first: others may refer to them."""
        plain, sources = [], []
        for name, value in sorted(self.environment.items()):
            if isinstance(value, str):
                plain.append({"name": name, "value": value})
            else:
                sources.append({"name": name, "valueFrom": value.body()})
        return [*plain, *sources]


def resources(default: Resources, *layers: PodSettings | None) -> Resources:
    """CPU and memory: the first layer that sets them, else a tested size."""
    configured = (layer.resources for layer in layers if layer is not None)
    return next((each for each in configured if each is not None), default)


def reference(image: Image) -> str:
    """The image reference of a container."""
    return (
        f"{image.repository}@{image.digest}" if image.digest else f"{image.repository}:{image.tag}"
    )
