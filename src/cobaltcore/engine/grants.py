"""References into other namespaces: only where a ReferenceGrant of that namespace permits them. Pure.

What is checked is what is read: the OVNCluster and the Secret of its certificate, the ConfigMap with
the monitors of Ceph. Services are addresses, whose names DNS gives to everyone.
"""

from collections.abc import Iterable, Iterator

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.gateway import ReferenceGrantSpec
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.runtime.meta import Key, Kind, Object

NOT_PERMITTED = "RefNotPermitted"


def crosses(namespace: str, kind: Kind, key: Key) -> bool:
    """Whether reading an object from a namespace needs a grant."""
    return kind.namespaced and key.namespace != namespace and kind != SERVICE


def check(own: Kind, namespace: str, kind: Kind, key: Key, grants: Iterable[Object]) -> None:
    """Raise unless one of the grants of the other namespace permits the reference."""
    if any(_permits(_spec(each), own, namespace, kind, key) for each in grants):
        return
    raise InputInvalid(
        NOT_PERMITTED,
        f"{kind.kind} {key} is in another namespace and no ReferenceGrant permits the reference; "
        f"create a ReferenceGrant in namespace {key.namespace!r} from {own.kind} ({own.group}) of "
        f"namespace {namespace!r} to {kind.kind} {key.name!r}"
        + (f" ({kind.group})" if kind.group else ""),
    )


def namespaces(grant: Object, own: Kind) -> Iterator[str]:
    """Namespaces whose objects of a kind a grant concerns."""
    for each in _spec(grant).from_:
        if (each.group, each.kind) == (own.group, own.kind):
            yield each.namespace


def _permits(spec: ReferenceGrantSpec, own: Kind, namespace: str, kind: Kind, key: Key) -> bool:
    referrer = (own.group, own.kind, namespace)
    return referrer in ((each.group, each.kind, each.namespace) for each in spec.from_) and any(
        (each.group, each.kind) == (kind.group, kind.kind) and each.name in (None, "", key.name)
        for each in spec.to
    )


def _spec(grant: Object) -> ReferenceGrantSpec:
    """What a grant permits; a malformed one permits nothing."""
    try:
        return manifest.spec_of(grant, ReferenceGrantSpec)
    except msgspec.ValidationError:
        return ReferenceGrantSpec()
