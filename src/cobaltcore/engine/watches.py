"""How changes of watched kinds map to the objects of a planner that they concern."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import grants, podfailures
from cobaltcore.engine.desired import names
from cobaltcore.engine.planner import Watch
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.store import Change

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster
    from cobaltcore.runtime.controller import KeysOf

OURS = WatchScope(selector=f"app.kubernetes.io/part-of={names.PART_OF}")
OPTIONAL = WatchScope(optional=True)
CONTENT = WatchScope(metadata_only=True)

PODS_BY_JOB = "job"
"""Index of Pods: namespace/name of their Job."""
EVERY = "every"
"""Index in which every object of a kind has the value ""."""


def referenced(kind: Kind, scope: WatchScope = EVERYTHING) -> Watch:
    """Objects whose spec names the changed one."""

    def keys(cluster: "Cluster", own: Kind) -> "KeysOf":
        def of(change: Change) -> Iterator[Key]:
            for obj in cluster.informer(own).find("references", f"{kind.kind}/{change.key}"):
                yield key_of(obj)

        return of

    return Watch(kind, keys, scope)


def labelled(kind: Kind, name: str, scope: WatchScope = OURS) -> Watch:
    """The object that the labels name: finds also children that outlive their owner."""
    return Watch(kind, lambda cluster, own: instance_of(name), scope)


def everyone(kind: Kind, scope: WatchScope = EVERYTHING) -> Watch:
    """Every object of the planner's kind."""

    def keys(cluster: "Cluster", own: Kind) -> "KeysOf":
        return lambda change: [key_of(each) for each in cluster.informer(own).objects()]

    return Watch(kind, keys, scope, {EVERY: lambda obj: ("",)})


def in_namespace(kind: Kind, scope: WatchScope = EVERYTHING) -> Watch:
    """Every object of the planner's kind in the namespace of the changed one."""

    def keys(cluster: "Cluster", own: Kind) -> "KeysOf":
        def of(change: Change) -> Iterable[Key]:
            return [key_of(each) for each in cluster.informer(own).objects(change.key.namespace)]

        return of

    return Watch(kind, keys, scope)


def granted() -> Watch:
    """Objects that a ReferenceGrant lets refer to others in its namespace."""

    def keys(cluster: "Cluster", own: Kind) -> "KeysOf":
        def of(change: Change) -> Iterator[Key]:
            versions = [each for each in (change.old, change.new) if each is not None]
            found = {each for version in versions for each in grants.namespaces(version, own)}
            for namespace in sorted(found):
                yield from map(key_of, cluster.informer(own).objects(namespace))

        return of

    return Watch(REFERENCE_GRANT, keys, OPTIONAL)


def pods(name: str) -> Watch:
    """Pods of the objects that the labels name, indexed by their Job and by their set."""
    indexes = {PODS_BY_JOB: _job_of_pod, podfailures.INDEX: podfailures.by_set}
    return Watch(POD, lambda cluster, own: instance_of(name), OURS, indexes)


def instance_of(name: str) -> Callable[[Change], Iterator[Key]]:
    def keys(change: Change) -> Iterator[Key]:
        labels = change.latest["metadata"].get("labels") or {}
        instance = labels.get(names.INSTANCE)
        if labels.get(names.NAME) == name and instance:
            yield Key(change.key.namespace, instance)

    return keys


def _job_of_pod(obj: Object) -> Iterator[str]:
    name = (obj["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-name")
    if name:
        yield str(Key(obj["metadata"]["namespace"], name))
