"""StatefulSets: pods with names, and volumes of their own. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cobaltcore.api.base import Quantity
from cobaltcore.api.foreign.kubernetes import STATEFUL_SET
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.runtime.meta import Desired, Key, Object


@dataclass(frozen=True, slots=True)
class Storage:
    """A volumeClaimTemplate, and whether its claims outlive the StatefulSet."""

    claim: str
    size: Quantity
    storage_class: str | None = None
    retain: bool = True

    def kept_from(self, live: Object | None) -> "Storage":
        """The same with the claim of a live StatefulSet, which is immutable."""
        for claim in ((live or {}).get("spec") or {}).get("volumeClaimTemplates") or ():
            spec = claim["spec"]
            return replace(
                self,
                size=spec["resources"]["requests"]["storage"],
                storage_class=spec.get("storageClassName"),
            )
        return self


def stateful_set(
    key: Key,
    *,
    replicas: int,
    selector: Mapping[str, str],
    pod: Pod,
    service: str = "",
    storage: Storage | None = None,
) -> Desired:
    """Pods named by a headless Service, by default of the same name."""
    spec: dict[str, Any] = {
        "serviceName": service or key.name,
        "replicas": replicas,
        # In order, a pod would wait for ones that need it to become ready, or are stuck.
        "podManagementPolicy": "Parallel",
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(selector)},
        "template": pod.template(),
    }
    if storage is not None:
        deleted = "Retain" if storage.retain else "Delete"
        spec["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": deleted,
            "whenScaled": "Retain",
        }
        spec["volumeClaimTemplates"] = [_claim(storage, selector)]
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(pod.labels)}
    return Desired(STATEFUL_SET, {"metadata": meta, "spec": spec})


def _claim(storage: Storage, labels: Mapping[str, str]) -> Object:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.storage_class:
        spec["storageClassName"] = storage.storage_class
    return {"metadata": {"name": storage.claim, "labels": dict(labels)}, "spec": spec}
