"""Gateway API (`gateway.networking.k8s.io/v1beta1`): the fields that we read."""

import msgspec

from cobaltcore.runtime.meta import Kind, Struct

REFERENCE_GRANT = Kind("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant", "referencegrants")


class Referrer(Struct):
    """Objects of another namespace that may refer to objects of this one."""

    group: str
    kind: str
    namespace: str


class Referent(Struct):
    """Objects of this namespace that may be referred to: one, or all of a kind."""

    group: str
    kind: str
    name: str | None = None


class ReferenceGrantSpec(Struct):
    """Who may refer to what; any of the one to any of the other."""

    from_: list[Referrer] = msgspec.field(name="from", default_factory=list)
    to: list[Referent] = []
