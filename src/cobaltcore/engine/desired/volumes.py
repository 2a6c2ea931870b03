"""Volumes of pods, and where containers mount them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cobaltcore.runtime.meta import Object

READABLE_BY_GROUP = 0o440


@dataclass(frozen=True, slots=True)
class Secret:
    """A Secret, mounted read-only."""

    name: str
    items: Mapping[str, str] = field(default_factory=dict)
    """Keys to mount, with their file names; empty: all keys."""
    mode: int = READABLE_BY_GROUP

    def body(self) -> Object:
        found: Object = {"secretName": self.name, "defaultMode": self.mode}
        if self.items:
            found["items"] = [{"key": key, "path": path} for key, path in self.items.items()]
        return {"secret": found}


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap, mounted read-only."""

    name: str
    mode: int = READABLE_BY_GROUP

    def body(self) -> Object:
        return {"configMap": {"name": self.name, "defaultMode": self.mode}}


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that exists on its own."""

    name: str

    def body(self) -> Object:
        return {"persistentVolumeClaim": {"claimName": self.name}}


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """The claim of a StatefulSet's volumeClaimTemplate of the same name."""

    def body(self) -> Object:
        return {}


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path of the node; without a type it is not checked."""

    path: str
    type: Literal["", "Directory", "DirectoryOrCreate"] = "DirectoryOrCreate"

    def body(self) -> Object:
        return {"hostPath": {"path": self.path, "type": self.type}}


@dataclass(frozen=True, slots=True)
class EmptyDir:
    """A directory that is deleted with the pod; a pod that writes more is evicted."""

    size_limit: str = "10Gi"

    def body(self) -> Object:
        return {"emptyDir": {"sizeLimit": self.size_limit}}


Source = Secret | ConfigMap | Claim | ClaimTemplate | HostPath | EmptyDir


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of the pod, and where a container mounts it."""

    name: str
    path: str
    source: Source = EmptyDir()
    propagation: Literal["None", "HostToContainer", "Bidirectional"] = "None"
    read_only: bool = False

    def volume(self) -> Object | None:
        """The entry of the pod; None if the StatefulSet adds it."""
        source = self.source.body()
        return {"name": self.name, **source} if source else None

    def mount(self) -> Object:
        """The entry of the container."""
        found: Object = {"name": self.name, "mountPath": self.path}
        if self.propagation != "None":
            found["mountPropagation"] = self.propagation
        if self.read_only or isinstance(self.source, Secret | ConfigMap):
            found["readOnly"] = True
        return found


def host_path(name: str, path: str) -> Volume:
    """A directory of the node at the same path; created if it does not exist."""
    return Volume(name, path, HostPath(path))
