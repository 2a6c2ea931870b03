"""Ceph as image, volume and disk storage of services. Pure: no I/O."""

from typing import Annotated

from cobaltcore.api.base import Meta, Struct
from cobaltcore.api.blocks import NamespacedRef, SecretRef

PoolName = Annotated[
    str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][-._A-Za-z0-9]*$")
]
CephUser = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][-._A-Za-z0-9]*$")
]


class Rbd(Struct):
    """A pool of block images in Ceph."""

    pool: PoolName
    """Name of the pool. It must exist."""
    user: CephUser | None = None
    """Ceph user without the client. prefix. Unset: the name of the service."""
    ceph_secret_ref: SecretRef
    """Secret with the user's key. Keys: the user's name (or keyring), and optionally ceph.conf."""
    ceph_client_ref: NamespacedRef | None = None
    """Rook's CephClient that the key comes from, for the check that it is allowed in the pool."""
