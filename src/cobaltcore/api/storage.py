"""Ceph as image, volume and disk storage of services. Pure: no I/O."""

from typing import Annotated

from cobaltcore.api.base import HostPort, Meta, Struct, list_set
from cobaltcore.api.blocks import NamespacedRef, SecretKeyRef

Monitors = Annotated[list[HostPort], Meta(min_length=1, max_length=9), list_set()]
PoolName = Annotated[
    str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][-._A-Za-z0-9]*$")
]
# Volumes are named ceph-key-USER, with at most 63 characters.
CephUser = Annotated[
    str,
    Meta(min_length=1, max_length=54, pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$"),
]


class Rbd(Struct):
    """A pool of block images in Ceph."""

    pool: PoolName
    """Name of the pool. It must exist."""
    user: CephUser | None = None
    """Ceph user without the client. prefix. Unset: the name of cephClientRef, or else of the
    service."""
    ceph_secret_ref: SecretKeyRef
    """Secret with the user's key. Unset key: the user's name, keyring, userKey or key, whichever
    exists. The key ceph.conf of the Secret, if it exists, is used as it is."""
    ceph_client_ref: NamespacedRef | None = None
    """CephClient of Rook that is the user. The monitors come from Rook in its namespace, unless
    monitors or the Secret name them."""
    monitors: Monitors | None = None
    """Monitors as host:port. Unset: ceph.conf or mon_host of the Secret, or else those of Rook."""

    def ceph_user(self, service: str) -> str:
        """The user, by name or by CephClient; the service's own without either."""
        client = self.ceph_client_ref
        return self.user or (client.name if client is not None else service)
