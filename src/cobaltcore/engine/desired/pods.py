"""Pods: containers, placement, and what they share with their node. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cobaltcore.api.pods import PullSecret
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.containers import Container
from cobaltcore.engine.desired.placement import Placement
from cobaltcore.runtime.meta import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod; unless a container is root, it runs as an unprivileged user."""

    containers: Sequence[Container]
    init_containers: Sequence[Container] = ()
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)
    placement: Placement = field(default_factory=Placement)
    pull_secrets: Sequence[PullSecret] | None = None
    service_account: str = ""
    """Its token is mounted; without an account there is none."""
    user: int = names.USER_ID
    """User and group of unprivileged containers, and group of volumes."""
    host_network: bool = False
    host_pid: bool = False
    share_process_namespace: bool = False
    grace_period_seconds: int | None = None
    restart_policy: Literal["Always", "Never"] = "Always"
    dns_policy: Literal["", "Default", "ClusterFirstWithHostNet"] = ""

    def template(self) -> Object:
        """The pod template of a workload."""
        metadata = {"labels": dict(self.labels), "annotations": dict(self.annotations)}
        return {"metadata": metadata, "spec": self.spec()}

    def spec(self) -> Object:
        found: Object = {
            "automountServiceAccountToken": bool(self.service_account),
            "enableServiceLinks": False,
            "securityContext": self._security(),
            "containers": [each.body() for each in self.containers],
            "volumes": self._volumes(),
            **self.placement.body(),
        }
        return found | {name: value for name, value in self._optional().items() if value}

    def _optional(self) -> Object:
        # Names of Services resolve in the host network too.
        host_dns = "ClusterFirstWithHostNet" if self.host_network else ""
        return {
            "initContainers": [each.body() for each in self.init_containers],
            "imagePullSecrets": msgspec.to_builtins(list(self.pull_secrets or ())),
            "serviceAccountName": self.service_account,
            "hostNetwork": self.host_network,
            "hostPID": self.host_pid,
            "dnsPolicy": self.dns_policy or host_dns,
            "shareProcessNamespace": self.share_process_namespace,
            "terminationGracePeriodSeconds": self.grace_period_seconds,
            "restartPolicy": "" if self.restart_policy == "Always" else self.restart_policy,
        }

    def _volumes(self) -> list[Object]:
        listed = [v for each in (*self.init_containers, *self.containers) for v in each.mounts]
        volumes = {each.name: each.volume() for each in listed}
        return [each for each in volumes.values() if each is not None]

    def _security(self) -> Object:
        # Kubernetes leaves privileged containers out of it.
        shared = {"seccompProfile": {"type": "RuntimeDefault"}}
        if any(each.security.is_root for each in (*self.init_containers, *self.containers)):
            return {"runAsUser": 0, "runAsGroup": 0, **shared}
        return {
            "runAsNonRoot": True,
            "runAsUser": self.user,
            "runAsGroup": self.user,
            "fsGroup": self.user,
            **shared,
        }
