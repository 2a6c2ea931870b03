"""Dependencies between objects: found in the cache, held by finalizers, watched by indexes.

An object adds its finalizer to its dependencies before anything is created in Keystone. So the
deletion of a dependency waits for the last object that needs it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import conditions, finalizers
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.korc import kinds
from cobaltlab.korc.kinds import BY_KIND, Row
from cobaltlab.korc.verdict import AVAILABLE
from cobaltlab.providers.failures import Waiting
from cobaltlab.providers.reconciler import is_deleting

DEPENDENCIES = "korc/dependencies"
HELD = "korc/held"
IDS = "korc/ids"
Referred = dict[str, list[Object]]


def add_indexes(cluster: Cluster, row: Row, namespace: str = "") -> None:
    """Index objects by their dependencies and by their id in Keystone."""
    informer = cluster.informer(row.kind, WatchScope(namespace))
    informer.add_index(
        DEPENDENCIES, lambda obj: [_entry(*each) for each in _dependencies(row, obj)]
    )
    informer.add_index(HELD, lambda obj: [_entry(*each) for each in held(row, obj)])
    informer.add_index(IDS, _ids)


def dependents(
    cluster: Cluster, kind: Kind, dependency: Kind
) -> Callable[[Change], Iterable[Key]]:
    """A change of a `dependency` enqueues the objects of `kind` that name it."""

    def keys(change: Change) -> Iterable[Key]:
        return map(
            key_of, cluster.informer(kind).find(DEPENDENCIES, _entry(dependency, change.key))
        )

    return keys


def released(cluster: Cluster, kind: Kind, holder: Kind) -> Callable[[Change], Iterable[Key]]:
    """The end of a dependent of kind `holder` enqueues objects of `kind` that are being deleted."""

    def keys(change: Change) -> Iterator[Key]:
        row = BY_KIND[holder]
        before = set(held(row, change.old)) if change.old else set()
        after = set(held(row, change.new)) if change.new else set()
        for held_kind, key in before - after:
            found = cluster.informer(kind).get(key) if held_kind == kind else None
            if found is not None and is_deleting(found):
                yield key

    return keys


def same_user(cluster: Cluster) -> Callable[[Change], Iterable[Key]]:
    """A role assignment enqueues the application credentials of its user."""

    def keys(change: Change) -> Iterator[Key]:
        resource = _mapping(_mapping(change.latest.get("spec")).get("resource"))
        for name in kinds.names(resource.get("userRef")):
            entry = _entry(korc.USER, Key(change.key.namespace, name))
            yield from map(
                key_of, cluster.informer(korc.APPLICATION_CREDENTIAL).find(DEPENDENCIES, entry)
            )

    return keys


def held(row: Row, obj: Object) -> Iterator[tuple[Kind, Key]]:
    """The dependencies that must not be deleted before `obj`."""
    namespace = obj["metadata"]["namespace"]
    spec = _mapping(obj.get("spec"))
    credentials = _mapping(spec.get("cloudCredentialsRef")).get("secretName")
    for name in kinds.names(credentials):
        yield SECRET, Key(namespace, name)
    for reference, name in kinds.references(row, _mapping(spec.get("resource"))):
        yield reference.kind, Key(namespace, name)


def obsolete_finalizers(cluster: Cluster, kind: Kind, obj: Object) -> list[str]:
    """Finalizers of kinds that have no dependent of the object any more."""
    entry = _entry(kind, key_of(obj))
    return [
        row.finalizer
        for row in kinds.TABLE
        if row.kind != kind
        and finalizers.present(obj, row.finalizer)
        and not cluster.informer(row.kind).find(HELD, entry)
    ]


def find(cluster: Cluster, row: Row, namespace: str, fields: Any, *, new: bool) -> Referred:
    """The objects that fields name; raises Waiting with those that are missing.

    A `new` resource waits until they are Available; an existing one needs only their ids.
    """
    referred: Referred = {}
    missing = []
    for reference, name in kinds.references(row, _mapping(fields)):
        found = cluster.informer(reference.kind).get(Key(namespace, name))
        if found is None or _is_released(found, row):
            missing.append(f"Waiting for {reference.kind.kind}/{name} to be created")
        elif not _is_usable(found, new=new):
            missing.append(f"Waiting for {reference.kind.kind}/{name} to be ready")
        else:
            referred.setdefault(reference.field, []).append(found)
    if missing:
        raise Waiting("; ".join(missing))
    return referred


async def release(cluster: Cluster, kind: Kind, obj: Object) -> Object:
    """Remove obsolete finalizers of an object; return it as it is then."""
    for finalizer in obsolete_finalizers(cluster, kind, obj):
        await finalizers.remove(cluster, kind, obj, finalizer)
        obj = cluster.informer(kind).get(key_of(obj)) or obj
    return obj


def _dependencies(row: Row, obj: Object) -> Iterator[tuple[Kind, Key]]:
    namespace = obj["metadata"]["namespace"]
    spec = _mapping(obj.get("spec"))
    yield from held(row, obj)
    filter_ = _mapping(_mapping(spec.get("import")).get("filter"))
    for reference, name in kinds.references(row, filter_):
        yield reference.kind, Key(namespace, name)
    if row.secret is not None:
        for name in kinds.names(_mapping(spec.get("resource")).get(row.secret.field)):
            yield SECRET, Key(namespace, name)


def _is_released(obj: Object, row: Row) -> bool:
    """Whether an object is being deleted and we do not hold it."""
    return is_deleting(obj) and not finalizers.present(obj, row.finalizer)


def _is_usable(obj: Object, *, new: bool) -> bool:
    if not _mapping(obj.get("status")).get("id"):
        return False
    return not new or conditions.is_true(conditions.of(obj), AVAILABLE)


def _ids(obj: Object) -> Iterator[str]:
    id_ = _mapping(obj.get("status")).get("id")
    if id_:
        yield str(id_)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _entry(kind: Kind, key: Key) -> str:
    return f"{kind}:{key}"
