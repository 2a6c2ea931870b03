"""What the reconcilers of a Ceph cluster share: its objects are in one namespace."""

from collections.abc import Iterable
from dataclasses import dataclass

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    CEPH_FILESYSTEM,
    CEPH_OBJECT_STORE,
)
from cobaltcore.runtime import diff
from cobaltcore.runtime.controller import KeysOf, Source
from cobaltcore.runtime.meta import Key, Kind, Object, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.ceph import daemons
from cobaltlab.ceph.commands import Ceph
from cobaltlab.providers.provider import Context

DEPENDENTS = (CEPH_BLOCK_POOL, CEPH_CLIENT, CEPH_FILESYSTEM, CEPH_OBJECT_STORE)


@dataclass(frozen=True, slots=True)
class Environment:
    """The context of the process, and access to Ceph."""

    context: Context
    ceph: Ceph

    def cluster_of(self, namespace: str) -> Object | None:
        """The CephCluster of a namespace; of several the oldest one."""
        found = self.context.cluster.informer(CEPH_CLUSTER).objects(namespace)
        return min(found, key=_age, default=None)

    def dependents_of(self, namespace: str) -> dict[str, list[str]]:
        """Names of the objects that need the cluster of a namespace, by kind."""
        informers = {kind: self.context.cluster.informer(kind) for kind in DEPENDENTS}
        found = {
            f"{kind.kind}s": sorted(key_of(each).name for each in informer.objects(namespace))
            for kind, informer in informers.items()
        }
        return {kind: names for kind, names in found.items() if names}

    def is_reachable(self, namespace: str) -> bool:
        """Whether the monitor is available."""
        key = daemons.key(daemons.MON, namespace)
        return daemons.is_available(self.context.cluster.informer(DEPLOYMENT).get(key))

    def fingerprint(self, live: Object) -> str:
        """Changes with the spec of an object and with its cluster."""
        cluster = self.cluster_of(live["metadata"]["namespace"])
        cluster_uid = ((cluster or {}).get("metadata") or {}).get("uid", "")
        meta = live["metadata"]
        return diff.digest([meta["uid"], meta["generation"], cluster_uid])

    def watches(self, kind: Kind) -> list[Source]:
        """The cluster and its monitor enqueue all objects of `kind` in their namespace."""

        def of_monitor(change: Change) -> Iterable[Key]:
            return self.in_namespace(kind)(change) if change.key.name == daemons.MON.name else ()

        return [Source(CEPH_CLUSTER, self.in_namespace(kind)), Source(DEPLOYMENT, of_monitor)]

    def in_namespace(self, kind: Kind) -> KeysOf:
        """All objects of `kind` in the namespace of the changed object."""

        def keys(change: Change) -> Iterable[Key]:
            for each in self.context.cluster.informer(kind).objects(change.key.namespace):
                yield key_of(each)

        return keys


def _age(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]
