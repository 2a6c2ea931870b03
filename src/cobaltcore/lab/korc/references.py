"""What objects need of each other: found in the cache, held by finalizers, followed by indexes.

Whoever needs an object puts its own finalizer on it before anything is made in Keystone. The
object's deletion then waits until the last one that needs it is gone.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.lab.korc import kinds
from cobaltcore.lab.korc.kinds import BY_KIND, Row
from cobaltcore.lab.korc.verdict import AVAILABLE, Waiting
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

NEEDS = "korc/needs"
HOLDS = "korc/holds"
IDS = "korc/ids"
Referred = dict[str, list[Object]]


def add_indexes(cluster: Cluster, row: Row, namespace: str = "") -> None:
    """Make objects of a kind findable by what they name, and by their id in Keystone."""
    informer = cluster.informer(row.kind, Scope(namespace))
    informer.add_index(NEEDS, lambda obj: [_entry(*each) for each in _needs(row, obj)])
    informer.add_index(HOLDS, lambda obj: [_entry(*each) for each in holds(row, obj)])
    informer.add_index(IDS, _ids)


def needing(cluster: Cluster, kind: Kind, needed: Kind) -> Callable[[Change], Iterable[Key]]:
    """Objects of `kind` are to be looked at when a `needed` one that they name changes."""

    def keys(change: Change) -> Iterable[Key]:
        return map(key_of, cluster.informer(kind).find(NEEDS, _entry(needed, change.key)))

    return keys


def released(cluster: Cluster, kind: Kind, holder: Kind) -> Callable[[Change], Iterable[Key]]:
    """Objects of `kind` that are to be deleted are to be looked at when a holder lets go."""

    def keys(change: Change) -> Iterator[Key]:
        row = BY_KIND[holder]
        before = set(holds(row, change.old)) if change.old else set()
        after = set(holds(row, change.new)) if change.new else set()
        for held, key in before - after:
            known = cluster.informer(kind).get(key) if held == kind else None
            if known is not None and known["metadata"].get("deletionTimestamp"):
                yield key

    return keys


def same_user(cluster: Cluster) -> Callable[[Change], Iterable[Key]]:
    """Application credentials are to be looked at when their user gets a role."""

    def keys(change: Change) -> Iterator[Key]:
        resource = _mapping(_mapping(change.latest.get("spec")).get("resource"))
        for name in kinds.names(resource.get("userRef")):
            entry = _entry(korc.USER, Key(change.key.namespace, name))
            yield from map(
                key_of, cluster.informer(korc.APPLICATION_CREDENTIAL).find(NEEDS, entry)
            )

    return keys


def holds(row: Row, obj: Object) -> Iterator[tuple[Kind, Key]]:
    """What must not go away before `obj` does."""
    namespace = obj["metadata"]["namespace"]
    spec = _mapping(obj.get("spec"))
    credentials = _mapping(spec.get("cloudCredentialsRef")).get("secretName")
    for name in kinds.names(credentials):
        yield SECRET, Key(namespace, name)
    for reference, name in kinds.references(row, _mapping(spec.get("resource"))):
        yield reference.kind, Key(namespace, name)


def left_behind(cluster: Cluster, kind: Kind, obj: Object) -> list[str]:
    """Finalizers on an object whose last users are gone."""
    entry = _entry(kind, key_of(obj))
    return [
        row.finalizer
        for row in kinds.TABLE
        if row.kind != kind
        and finalizers.present(obj, row.finalizer)
        and not cluster.informer(row.kind).find(HOLDS, entry)
    ]


def find(cluster: Cluster, row: Row, namespace: str, fields: Any, *, new: bool) -> Referred:
    """The objects that fields name; Waiting names those that are missing.

    Something that is `new` waits until they are available; what is there only needs their ids.
    """
    found: Referred = {}
    missing = []
    for reference, name in kinds.references(row, _mapping(fields)):
        known = cluster.informer(reference.kind).get(Key(namespace, name))
        if known is None or _is_leaving(known, row):
            missing.append(f"Waiting for {reference.kind.kind}/{name} to be created")
        elif not _is_usable(known, new=new):
            missing.append(f"Waiting for {reference.kind.kind}/{name} to be ready")
        else:
            found.setdefault(reference.field, []).append(known)
    if missing:
        raise Waiting(*missing)
    return found


async def release(cluster: Cluster, kind: Kind, obj: Object) -> Object:
    """Take off what the last users of an object have left behind; return it as it is now."""
    for finalizer in left_behind(cluster, kind, obj):
        await finalizers.remove(cluster, kind, obj, finalizer)
        obj = cluster.informer(kind).get(key_of(obj)) or obj
    return obj


def _needs(row: Row, obj: Object) -> Iterator[tuple[Kind, Key]]:
    namespace = obj["metadata"]["namespace"]
    spec = _mapping(obj.get("spec"))
    yield from holds(row, obj)
    filter_ = _mapping(_mapping(spec.get("import")).get("filter"))
    for reference, name in kinds.references(row, filter_):
        yield reference.kind, Key(namespace, name)
    if row.secret is not None:
        for name in kinds.names(_mapping(spec.get("resource")).get(row.secret.field)):
            yield SECRET, Key(namespace, name)


def _is_leaving(known: Object, row: Row) -> bool:
    """Whether it is too late to hold on to an object."""
    leaving = bool(known["metadata"].get("deletionTimestamp"))
    return leaving and not finalizers.present(known, row.finalizer)


def _is_usable(known: Object, *, new: bool) -> bool:
    status = _mapping(known.get("status"))
    if not status.get("id"):
        return False
    told = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return not new or told.get(AVAILABLE) == "True"


def _ids(obj: Object) -> Iterator[str]:
    id_ = _mapping(obj.get("status")).get("id")
    if id_:
        yield str(id_)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _entry(kind: Kind, key: Key) -> str:
    return f"{kind}:{key}"
