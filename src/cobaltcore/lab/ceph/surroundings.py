"""What the controllers of one Ceph cluster's parts know of each other: all share a namespace."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    CEPH_FILESYSTEM,
    CEPH_OBJECT_STORE,
)
from cobaltcore.lab.ceph import daemons
from cobaltcore.lab.ceph.commands import Ceph
from cobaltcore.lab.providers.provider import Setting
from cobaltcore.runtime import conditions, diff
from cobaltcore.runtime.controller import KeysOf, Source
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, key_of
from cobaltcore.runtime.store import Change

MEMBERS = (CEPH_BLOCK_POOL, CEPH_CLIENT, CEPH_FILESYSTEM, CEPH_OBJECT_STORE)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The process, and the way to Ceph."""

    setting: Setting
    ceph: Ceph

    def cluster_of(self, namespace: str) -> Object | None:
        """The CephCluster of a namespace; of several the oldest is served."""
        found = self.setting.cluster.informer(CEPH_CLUSTER).objects(namespace)
        return min(found, key=_age, default=None)

    def members_of(self, namespace: str) -> dict[str, list[str]]:
        """Names of what stands on the cluster of a namespace, by kind."""
        informers = {kind: self.setting.cluster.informer(kind) for kind in MEMBERS}
        found = {
            f"{kind.kind}s": sorted(key_of(each).name for each in informer.objects(namespace))
            for kind, informer in informers.items()
        }
        return {kind: names for kind, names in found.items() if names}

    def is_reachable(self, namespace: str) -> bool:
        """Whether the monitor runs."""
        key = daemons.key(daemons.MON, namespace)
        return daemons.is_available(self.setting.cluster.informer(DEPLOYMENT).get(key))

    def fingerprint(self, live: Object) -> str:
        """Changes with the spec of an object and with the cluster that it is in."""
        cluster = self.cluster_of(live["metadata"]["namespace"])
        reported = ((cluster or {}).get("metadata") or {}).get("uid", "")
        return diff.digest([live["metadata"]["uid"], live["metadata"]["generation"], reported])

    def wakes(self, kind: Kind) -> list[Source]:
        """The cluster and its monitor concern all objects of `kind` beside them."""

        def of_monitor(change: Change) -> Iterable[Key]:
            return self.beside(kind)(change) if change.key.name == daemons.MON.name else ()

        return [Source(CEPH_CLUSTER, self.beside(kind)), Source(DEPLOYMENT, of_monitor)]

    def beside(self, kind: Kind) -> KeysOf:
        """All objects of `kind` in the namespace of the changed object."""

        def keys(change: Change) -> Iterable[Key]:
            for each in self.setting.cluster.informer(kind).objects(change.key.namespace):
                yield key_of(each)

        return keys

    def merged(
        self, before: Iterable[Condition], now: list[Condition], live: Object
    ) -> list[Condition]:
        """Conditions as Rook writes them: they do not tell a generation."""
        merged = conditions.merge(
            before,
            now,
            now=self.setting.clock.now(),
            generation=live["metadata"]["generation"],
        )
        return [msgspec.structs.replace(each, observed_generation=None) for each in merged]


def is_going(obj: Object) -> bool:
    """Whether an object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def _age(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]
