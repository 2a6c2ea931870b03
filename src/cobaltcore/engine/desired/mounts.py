"""What a container finds in its file system besides its image. Pure."""

from dataclasses import dataclass

from cobaltcore.runtime.meta import Object


@dataclass(frozen=True, slots=True)
class Mount:
    """A Secret, a ConfigMap, a claim, a directory of the node, or else an empty directory."""

    name: str
    path: str
    secret: str = ""
    config_map: str = ""
    claim: str = ""
    host: str = ""
    """Directory of the node; made if it is not there."""
    mode: int = 0o440

    def volume(self) -> Object:
        """The pod's side of it."""
        source: Object = {"emptyDir": {}}
        if self.secret:
            source = {"secret": {"secretName": self.secret, "defaultMode": self.mode}}
        elif self.config_map:
            source = {"configMap": {"name": self.config_map, "defaultMode": self.mode}}
        elif self.claim:
            source = {"persistentVolumeClaim": {"claimName": self.claim}}
        elif self.host:
            kind = "" if self.host.startswith("/dev") else "DirectoryOrCreate"
            source = {"hostPath": {"path": self.host, "type": kind}}
        return {"name": self.name, **source}

    def mount(self) -> Object:
        """The container's side of it; only what comes from the API is read-only."""
        found: Object = {"name": self.name, "mountPath": self.path}
        if self.secret or self.config_map:
            found["readOnly"] = True
        return found
