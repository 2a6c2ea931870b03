"""Rook (`ceph.rook.io`): a real Ceph for block storage, of one monitor, manager and storage daemon.

Serves CephCluster, CephBlockPool and CephClient; CephFilesystem and CephObjectStore are accepted
and reported as not served. The parts are in `cobaltcore.lab.ceph`.
"""

from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DEPLOYMENT,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
)
from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    CEPH_FILESYSTEM,
    CEPH_OBJECT_STORE,
)
from cobaltcore.engine.rights import Rule
from cobaltcore.lab.ceph.client import Clients
from cobaltcore.lab.ceph.cluster import Clusters
from cobaltcore.lab.ceph.commands import Ceph, PodCeph
from cobaltcore.lab.ceph.pool import Pools
from cobaltcore.lab.ceph.surroundings import Surroundings
from cobaltcore.lab.ceph.unserved import Unserved
from cobaltcore.lab.providers.provider import Provider, Setting
from cobaltcore.runtime.controller import Controller

KINDS = (CEPH_CLUSTER, CEPH_BLOCK_POOL, CEPH_CLIENT, CEPH_FILESYSTEM, CEPH_OBJECT_STORE)


def controllers(setting: Setting, *, ceph: Ceph | None = None) -> Iterator[Controller]:
    """One controller per kind; `ceph` is asked instead of the monitor's pod if given."""
    around = Surroundings(setting, ceph or PodCeph(setting.cluster.client))
    yield Clusters(around).controller
    yield Pools(around).controller
    yield Clients(around).controller
    yield Unserved(around, CEPH_FILESYSTEM, "shared file systems").controller
    yield Unserved(around, CEPH_OBJECT_STORE, "object stores").controller


PROVIDER = Provider(
    "rook",
    KINDS,
    controllers,
    makes=(DEPLOYMENT, SERVICE, CONFIG_MAP, SECRET, PERSISTENT_VOLUME_CLAIM),
    # Ceph is asked by a program in the monitor's pod.
    extra=(
        Rule(POD.group, (POD.plural,), ("get", "list")),
        Rule(POD.group, (f"{POD.plural}/exec",), ("create", "get")),
    ),
    images=("ceph",),
)
