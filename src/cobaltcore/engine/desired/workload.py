"""Deployments with their disruption budgets, and DaemonSets. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, POD_DISRUPTION_BUDGET
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.runtime.meta import Desired, Key, Object


class Progress(NamedTuple):
    """How far a rollout is, in pods."""

    ready: int = 0
    wanted: int = 0
    updated: int = 0
    """Pods of the newest template."""
    existing: int = 0
    observed: bool = False
    """Whether the numbers are about the newest spec."""

    @property
    def settled(self) -> bool:
        """Whether all wanted pods are ready, and no others exist."""
        return self.observed and self.updated == self.wanted == self.existing <= self.ready

    def describe(self, name: str, *, wanted: int = 0) -> str:
        """What is missing; `wanted` is the number of pods while there is no object to ask."""
        expected = self.wanted or wanted
        if not self.existing and expected:
            return f"0/{expected} pods of {name!r} ready"
        if not self.observed:
            return f"the newest spec of {name!r} is not rolled out yet"
        if self.updated < self.wanted:
            return f"{self.updated}/{self.wanted} pods of {name!r} updated"
        if self.ready < self.wanted:
            return f"{self.ready}/{self.wanted} pods of {name!r} ready"
        old = max(self.existing, self.updated) - self.wanted
        return f"{old} old {'pod' if old == 1 else 'pods'} of {name!r} terminating"


def deployment(
    key: Key,
    *,
    replicas: int,
    selector: Mapping[str, str],
    pod: Pod,
) -> Iterator[Desired]:
    """Equal pods, spread over nodes, replaced one by one, disrupted one at a time."""
    placement = replace(pod.placement, spread_selector=selector)
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(pod.labels)}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(selector)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "template": replace(pod, placement=placement).template(),
    }
    yield Desired(DEPLOYMENT, {"metadata": meta, "spec": spec})
    yield disruption_budget(key, selector=selector, labels=pod.labels)


def disruption_budget(
    key: Key, *, selector: Mapping[str, str], labels: Mapping[str, str]
) -> Desired:
    """Allow one pod at a time to be evicted."""
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": dict(selector)}}
    return Desired(POD_DISRUPTION_BUDGET, {"metadata": meta, "spec": spec})


def daemon_set(key: Key, *, selector: Mapping[str, str], pod: Pod) -> Desired:
    """One pod on every node that its placement allows, replaced node by node."""
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(pod.labels)}
    spec: dict[str, Any] = {
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(selector)},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": pod.template(),
    }
    return Desired(DAEMON_SET, {"metadata": meta, "spec": spec})


def progress(obj: Object | None) -> Progress:
    """How far a Deployment or StatefulSet is."""
    if obj is None:
        return Progress()
    status = obj.get("status") or {}
    return Progress(
        ready=status.get("readyReplicas", 0),
        wanted=obj["spec"].get("replicas", 1),
        updated=status.get("updatedReplicas", 0),
        existing=status.get("replicas", 0),
        observed=_is_current(obj),
    )


def progress_on_nodes(obj: Object | None) -> Progress:
    """How far a DaemonSet is; with no node for it there is nothing to wait for."""
    if obj is None:
        return Progress()
    status = obj.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    return Progress(
        ready=status.get("numberReady", 0),
        wanted=wanted,
        updated=status.get("updatedNumberScheduled", 0),
        existing=wanted,
        observed=_is_current(obj),
    )


def _is_current(obj: Object) -> bool:
    generation = (obj.get("status") or {}).get("observedGeneration")
    return bool(generation == obj["metadata"]["generation"])
