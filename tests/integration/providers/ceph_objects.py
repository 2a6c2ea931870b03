"""Objects of Rook, as the real operator accepts them."""

from typing import Any

from cobaltcore.api.foreign.rook import (
    CEPH_BLOCK_POOL,
    CEPH_CLIENT,
    CEPH_CLUSTER,
    CEPH_FILESYSTEM,
    CEPH_OBJECT_STORE,
)
from cobaltcore.runtime.meta import Key, Object
from tests.support.providers import an_object

CAPS = {"mon": "profile rbd", "osd": "profile rbd pool=images"}


def a_cluster(namespace: str, name: str = "rook-ceph", **spec: Any) -> Object:
    fields = {
        "cephVersion": {"image": "quay.io/ceph/ceph:v19"},
        "dataDirHostPath": "/var/lib/rook",
        "mon": {"count": 3},
        **spec,
    }
    return an_object(CEPH_CLUSTER, Key(namespace, name), fields)


def a_pool(namespace: str, name: str = "images", **spec: Any) -> Object:
    fields = {"failureDomain": "host", "replicated": {"size": 3}, **spec}
    return an_object(CEPH_BLOCK_POOL, Key(namespace, name), fields)


def a_user(namespace: str, name: str = "glance", **spec: Any) -> Object:
    return an_object(CEPH_CLIENT, Key(namespace, name), {"caps": CAPS, **spec})


def a_file_system(namespace: str) -> Object:
    copies = {"replicated": {"size": 3}}
    spec = {
        "metadataPool": copies,
        "dataPools": [{"name": "data", **copies}],
        "metadataServer": {"activeCount": 1},
    }
    return an_object(CEPH_FILESYSTEM, Key(namespace, "shared"), spec)


def an_object_store(namespace: str) -> Object:
    return an_object(
        CEPH_OBJECT_STORE, Key(namespace, "s3"), {"gateway": {"instances": 1, "port": 80}}
    )
