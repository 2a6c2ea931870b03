"""Settings of pods, the same for every workload. Pure: no I/O."""

from typing import Annotated, ClassVar, Literal

from cobaltcore.api.base import Meta, Name, Quantity, Rule, Struct, checked, list_map

_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_LABEL_KEY = f"^({_DOMAIN}/)?{_LABEL_NAME}$"
LabelValue = Annotated[str, Meta(max_length=63, pattern=f"^({_LABEL_NAME})?$")]
NodeSelector = Annotated[
    dict[str, LabelValue],
    Meta(min_length=1, max_length=16),
    checked(
        Rule(
            f"self.all(key, key.size() <= 317 && key.matches('{_LABEL_KEY}'))",
            "the key of a label is a name of A-Z a-z 0-9 - _ . with at most 63 characters, with "
            "or without a domain before it, for example example.com/rack",
        )
    ),
]
ResourceAmounts = Annotated[
    dict[str, Quantity],
    Meta(max_length=8),
    checked(
        Rule(
            "self.all(name, name in ['cpu', 'memory', 'ephemeral-storage']"
            " || name.startsWith('hugepages-')"
            f" || name.matches('^{_DOMAIN}/{_LABEL_NAME}$'))",
            "a resource is cpu, memory, ephemeral-storage, hugepages-SIZE or an extended one "
            "with its domain, for example nvidia.com/gpu",
        )
    ),
]
Replicas = Annotated[int, Meta(ge=1, le=100)]


class Resources(Struct):
    """Requests and limits of a container."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.requests) || !has(self.limits) || self.requests.all(name, "
            "!(name in self.limits) || quantity(string(self.requests[name])).compareTo("
            "quantity(string(self.limits[name]))) <= 0)",
            "requests: must not be above limits",
            "requests",
        ),
    )

    requests: ResourceAmounts | None = None
    """Requests by resource name, for example cpu: 250m and memory: 512Mi."""
    limits: ResourceAmounts | None = None
    """Limits by resource name. A container over its memory limit is restarted."""


class Toleration(Struct):
    """Toleration of a taint of nodes."""

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

    key: Annotated[str, Meta(min_length=1, max_length=317, pattern=_LABEL_KEY)] | None = None
    """Taint key to match. Unset with operator Exists: every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Equal compares the value, Exists only asks for the key."""
    value: LabelValue | None = None
    """Taint value to match, with operator Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Taint effect to match. Unset: all effects."""
    toleration_seconds: Annotated[int, Meta(ge=0, le=86400)] | None = None
    """Seconds that a pod may stay after the taint appeared. Unset: for ever."""


class PodSettings(Struct):
    """Scheduling and resources of pods. A change restarts them one after the other."""

    resources: Resources | None = None
    """CPU and memory of the main container. Unset: the default of the workload."""
    node_selector: NodeSelector | None = None
    """Labels that nodes must have to run these pods. Unset: any node."""
    tolerations: Annotated[list[Toleration], Meta(max_length=16)] | None = None
    """Taints of nodes that these pods tolerate."""
    priority_class_name: Name | None = None
    """PriorityClass of the pods."""


class Workload(PodSettings):
    """One Deployment of a service. Unset fields follow the settings of the whole service."""

    replicas: Replicas = 2
    """Number of pods."""


class PullSecret(Struct):
    """A Secret with registry credentials."""

    name: Name
    """Name of a Secret of type kubernetes.io/dockerconfigjson in the same namespace."""


PullSecrets = Annotated[list[PullSecret], Meta(max_length=8), list_map("name")]
