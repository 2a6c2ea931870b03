"""What a process gives to its operators."""

from dataclasses import dataclass, field

from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Context:
    """A cluster, the name of this replica, the time."""

    cluster: Cluster
    instance: str
    clock: Clock = field(default_factory=SystemClock)
