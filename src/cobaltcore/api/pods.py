"""What users may say about pods, the same for every workload. Pure: no I/O."""

from typing import Annotated, ClassVar, Literal

from cobaltcore.api.base import Meta, Name, Quantity, Rule, Struct, list_map

NodeSelector = Annotated[
    dict[str, Annotated[str, Meta(max_length=63)]], Meta(min_length=1, max_length=16)
]
Replicas = Annotated[int, Meta(ge=1, le=100)]


class Resources(Struct):
    """How much of a node's CPU and memory a container may count on and use at most."""

    requests: Annotated[dict[str, Quantity], Meta(max_length=8)] | None = None
    """What the scheduler reserves, by resource name, for example cpu: 250m and memory: 512Mi."""
    limits: Annotated[dict[str, Quantity], Meta(max_length=8)] | None = None
    """What the container may use at most. Over the memory limit it is restarted."""


class Toleration(Struct):
    """Lets pods run on nodes that carry a matching taint."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.operator == 'Equal' || !has(self.value)",
            "value: only allowed with operator Equal",
            "value",
        ),
        Rule(
            "self.operator == 'Exists' || has(self.key)",
            "key: required with operator Equal",
            "key",
        ),
        Rule(
            "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            "tolerationSeconds: only allowed with effect NoExecute",
            "tolerationSeconds",
        ),
    )

    key: Annotated[str, Meta(min_length=1, max_length=317)] | None = None
    """Taint key to match. Unset with operator Exists: every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Equal compares the value, Exists only asks for the key."""
    value: Annotated[str, Meta(max_length=63)] | None = None
    """Taint value to match, with operator Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Taint effect to match. Unset: all effects."""
    toleration_seconds: Annotated[int, Meta(ge=0, le=86400)] | None = None
    """Seconds that a pod may stay after the taint appeared. Unset: for ever."""


class PodSettings(Struct):
    """Where pods run and how much they get. A change restarts them one after the other."""

    resources: Resources | None = None
    """CPU and memory of the main container. Unset: a tested size for the workload."""
    node_selector: NodeSelector | None = None
    """Labels that a node must carry to run these pods. Unset: any node."""
    tolerations: Annotated[list[Toleration], Meta(max_length=16)] | None = None
    """Taints of nodes on which these pods may run nevertheless."""
    priority_class_name: Name | None = None
    """PriorityClass that decides who is evicted first when a node is full."""


class Workload(PodSettings):
    """One set of equal pods. What is unset here follows the settings of the whole service."""

    replicas: Replicas = 2
    """How many pods run."""


class PullSecret(Struct):
    """A Secret with registry credentials."""

    name: Name
    """Name of a Secret of type kubernetes.io/dockerconfigjson in the same namespace."""


PullSecrets = Annotated[list[PullSecret], Meta(max_length=8), list_map("name")]
