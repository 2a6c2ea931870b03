"""memcached-operator (`memcached.c5c3.io/v1beta1`): the fields that we set and read."""

from typing import Literal

import msgspec

from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.api.foreign.manifest import ConditionedStatus
from cobaltcore.runtime.meta import Kind, Struct

MEMCACHED = Kind("memcached.c5c3.io", "v1beta1", "Memcached", "memcacheds")


class Settings(Struct):
    """Limits of one server."""

    max_memory_mb: int = msgspec.field(default=64, name="maxMemoryMB")
    max_connections: int = 1024


class PodDisruptionBudget(Struct):
    """How many servers a drain leaves running."""

    enabled: bool
    min_available: int | str | None = None


class HighAvailability(Struct):
    """How servers are spread over nodes."""

    anti_affinity_preset: Literal["soft", "hard"] = "soft"
    pod_disruption_budget: PodDisruptionBudget | None = None


class Monitoring(Struct):
    """The exporter, a sidecar of the server."""

    enabled: bool
    exporter_image: str | None = None


class MemcachedSpec(Struct):
    """A set of cache servers."""

    replicas: int | None = None
    image: str | None = None
    memcached: Settings | None = None
    resources: Resources | None = None
    high_availability: HighAvailability | None = None
    monitoring: Monitoring | None = None


class MemcachedStatus(ConditionedStatus):
    """What the operator reports; `server_list` is what clients connect to."""

    ready_replicas: int = 0
    server_list: list[str] = []
