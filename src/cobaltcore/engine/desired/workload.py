"""Deployments and their disruption budgets. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, POD_DISRUPTION_BUDGET
from cobaltcore.runtime.meta import Desired, Key, Object


def deployment(
    key: Key,
    *,
    replicas: int,
    selector: Mapping[str, str],
    labels: Mapping[str, str],
    template: Object,
) -> Iterator[Desired]:
    """Equal pods that are replaced one after the other, and may go away one at a time."""
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(selector)},
    }
    pod = {**template, "spec": {**template["spec"], "topologySpreadConstraints": [spread]}}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(selector)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "template": pod,
    }
    yield Desired(DEPLOYMENT, {"metadata": meta, "spec": spec})
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": dict(selector)}}
    yield Desired(POD_DISRUPTION_BUDGET, {"metadata": meta, "spec": budget})


def progress(obj: Object | None) -> tuple[int, int, bool]:
    """Ready pods, wanted pods, and whether all of them are of the newest template."""
    if obj is None:
        return 0, 0, False
    wanted = obj["spec"].get("replicas", 1)
    status = obj.get("status") or {}
    current = status.get("observedGeneration") == obj["metadata"]["generation"]
    ready = status.get("readyReplicas", 0)
    settled = (
        current
        and status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and ready >= wanted
    )
    return ready, wanted, settled
