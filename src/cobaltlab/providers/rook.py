"""Rook (`ceph.rook.io`) for the lab: a real Ceph for block storage with one monitor, manager and OSD.

Serves CephCluster, CephBlockPool and CephClient; CephFilesystem and CephObjectStore are accepted
and reported as unsupported. The parts are in `cobaltlab.ceph`.
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
from cobaltcore.runtime.controller import Controller
from cobaltlab.ceph.client import CephClientReconciler
from cobaltlab.ceph.cluster import CephClusterReconciler
from cobaltlab.ceph.commands import AgentInPod, Ceph
from cobaltlab.ceph.environment import Environment
from cobaltlab.ceph.pool import CephBlockPoolReconciler
from cobaltlab.ceph.unsupported import UnsupportedReconciler
from cobaltlab.providers.provider import Context, Provider

KINDS = (CEPH_CLUSTER, CEPH_BLOCK_POOL, CEPH_CLIENT, CEPH_FILESYSTEM, CEPH_OBJECT_STORE)


def controllers(context: Context, *, ceph: Ceph | None = None) -> Iterator[Controller]:
    """One controller per kind; `ceph` replaces the agent in the monitor's pod."""
    environment = Environment(context, ceph or AgentInPod(context.cluster.client))
    yield CephClusterReconciler(environment).controller
    yield CephBlockPoolReconciler(environment).controller
    yield CephClientReconciler(environment).controller
    yield UnsupportedReconciler(context, CEPH_FILESYSTEM, "shared file systems").controller
    yield UnsupportedReconciler(context, CEPH_OBJECT_STORE, "object storage").controller


PROVIDER = Provider(
    "rook",
    KINDS,
    controllers,
    manages=(DEPLOYMENT, SERVICE, CONFIG_MAP, SECRET, PERSISTENT_VOLUME_CLAIM),
    # Requests to Ceph go through an agent in the monitor's pod.
    extra_rules=(
        Rule(POD.group, (POD.plural,), ("get", "list")),
        Rule(POD.group, (f"{POD.plural}/exec",), ("create", "get")),
    ),
    images=("ceph",),
)
