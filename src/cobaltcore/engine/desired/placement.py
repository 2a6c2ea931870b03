"""On which nodes pods run. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cobaltcore.api.pods import PodSettings, Toleration
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Object

EVERY_TAINT = (Toleration(operator="Exists"),)
NODE_CRITICAL = "system-node-critical"
CLUSTER_CRITICAL = "system-cluster-critical"


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """A requirement on a label of nodes."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Sequence[str] = ()

    def body(self) -> Object:
        found: Object = {"key": self.key, "operator": self.operator}
        return found | ({"values": list(self.values)} if self.values else {})


@dataclass(frozen=True, slots=True)
class Placement:
    """Node selector, tolerations, priority, affinity and spread of pods."""

    node_selector: Mapping[str, str] | None = None
    tolerations: Sequence[Toleration] | None = None
    priority_class_name: str | None = None
    either: Sequence[LabelRequirement] = ()
    """Node affinity: at least one of them holds, if there are any."""
    preferred: Sequence[LabelRequirement] = ()
    """Node affinity: nodes where all of them hold come first."""
    spread_selector: Mapping[str, str] = field(default_factory=dict)
    """Pods with these labels are spread over nodes; empty: no spread."""

    def body(self) -> Object:
        """Fields of the pod's spec."""
        found: Object = {}
        if self.node_selector is not None:
            found["nodeSelector"] = dict(self.node_selector)
        if self.tolerations is not None:
            found["tolerations"] = msgspec.to_builtins(list(self.tolerations))
        if self.priority_class_name is not None:
            found["priorityClassName"] = self.priority_class_name
        if self.either or self.preferred:
            found["affinity"] = {"nodeAffinity": self._node_affinity()}
        if self.spread_selector:
            found["topologySpreadConstraints"] = [_spread(self.spread_selector)]
        return found

    def _node_affinity(self) -> Object:
        found: Object = {}
        if self.either:
            found["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [_expressions([each]) for each in self.either]
            }
        if self.preferred:
            found["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": 100, "preference": _expressions(self.preferred)}
            ]
        return found


def of(*layers: PodSettings | None) -> Placement:
    """The settings of the user: of each field the first layer that sets it."""
    known = [layer for layer in layers if layer is not None]
    selectors = (each.node_selector for each in known)
    tolerations = (each.tolerations for each in known)
    classes = (each.priority_class_name for each in known)
    return Placement(
        next((each for each in selectors if each is not None), None),
        next((each for each in tolerations if each is not None), None),
        next((each for each in classes if each is not None), None),
    )


def on_hypervisors(settings: PodSettings | None) -> Placement:
    """Hypervisors, whatever their taints: a node without its daemons is no hypervisor."""
    configured = settings or PodSettings()
    every = configured.tolerations is None
    return Placement(
        node_selector=configured.node_selector or names.HYPERVISORS,
        tolerations=EVERY_TAINT if every else configured.tolerations,
        priority_class_name=configured.priority_class_name or NODE_CRITICAL,
    )


def _expressions(requirements: Sequence[LabelRequirement]) -> Object:
    return {"matchExpressions": [each.body() for each in requirements]}


def _spread(selector: Mapping[str, str]) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(selector)},
    }
