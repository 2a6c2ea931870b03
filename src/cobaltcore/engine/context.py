"""What a process gives to its operators."""

from dataclasses import dataclass, field

from cobaltcore.engine.podpolicy import PodPolicy
from cobaltcore.openstack.transport import HttpTransport, Transport
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Context:
    """A cluster, the name of this replica, limits of pods, the time, the way to OpenStack."""

    cluster: Cluster
    instance: str
    pods: PodPolicy = field(default_factory=PodPolicy)
    clock: Clock = field(default_factory=SystemClock)
    openstack: Transport = field(default_factory=HttpTransport)
