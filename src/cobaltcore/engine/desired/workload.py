"""Deployments with their disruption budgets, and DaemonSets. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, POD_DISRUPTION_BUDGET
from cobaltcore.runtime.meta import Desired, Key, Object


class Progress(NamedTuple):
    """Ready pods, wanted pods, and whether all of them are of the newest template."""

    ready: int = 0
    wanted: int = 0
    settled: bool = False


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


def daemon_set(
    key: Key, *, selector: Mapping[str, str], labels: Mapping[str, str], template: Object
) -> Desired:
    """One pod on every node that the template fits; replaced node after node."""
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    spec: dict[str, Any] = {
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(selector)},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": template,
    }
    return Desired(DAEMON_SET, {"metadata": meta, "spec": spec})


def progress(obj: Object | None) -> Progress:
    """How far a Deployment is."""
    if obj is None:
        return Progress()
    wanted = obj["spec"].get("replicas", 1)
    status = obj.get("status") or {}
    ready = status.get("readyReplicas", 0)
    settled = (
        _is_current(obj)
        and status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and ready >= wanted
    )
    return Progress(ready, wanted, settled)


def progress_on_nodes(obj: Object | None) -> Progress:
    """How far a DaemonSet is; with no node for it there is nothing to wait for."""
    if obj is None:
        return Progress()
    status = obj.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    ready = status.get("numberReady", 0)
    updated = status.get("updatedNumberScheduled", 0)
    return Progress(ready, wanted, _is_current(obj) and updated == wanted and ready >= wanted)


def _is_current(obj: Object) -> bool:
    generation = (obj.get("status") or {}).get("observedGeneration")
    return bool(generation == obj["metadata"]["generation"])
