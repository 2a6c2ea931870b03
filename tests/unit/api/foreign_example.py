"""What an example of a foreign kind consists of."""

from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.runtime.meta import Kind, Struct


class Example(NamedTuple):
    kind: Kind
    spec: Struct
    status: type[Struct]
    view: type[Struct] | None = None


SMALL = Resources(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"})
