"""Pools and keys for images, volumes and disks, on a Ceph that Rook runs. Pure."""

from collections.abc import Iterator

from cobaltcore.api.blocks import NamespacedRef, SecretKeyRef
from cobaltcore.api.foreign import rook
from cobaltcore.api.infrastructure import Ceph, CephPools
from cobaltcore.api.storage import Rbd
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.part import CephAccess
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.operators.controlplane import available
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired

MON = "profile rbd"
COPIES = 3


def settings(view: View) -> Ceph | None:
    """The Ceph of the control plane, if it has one."""
    return view.spec.storage.ceph if view.spec.storage else None


def is_used(view: View) -> bool:
    """Whether there is anything to make on it."""
    ceph = settings(view)
    return ceph is not None and ceph.cluster_ref is not None


def rbd(view: View, service: AnyService) -> Rbd | None:
    """How a service reaches its pool; None without Ceph."""
    ceph = settings(view)
    if ceph is None:
        return None
    access = available.part_of(service).ceph
    if access is None:
        return None
    pool, user = access.name(ceph.pools), service.name
    if ceph.cluster_ref is not None:
        reference = NamespacedRef(name=user, namespace=ceph.cluster_ref.namespace)
        return Rbd(
            pool=pool,
            user=user,
            ceph_secret_ref=SecretKeyRef(name=client_secret(user)),
            ceph_client_ref=reference,
        )
    assert ceph.secret_ref is not None  # noqa: S101 admission requires it with monitors
    return Rbd(
        pool=pool,
        user=user,
        ceph_secret_ref=SecretKeyRef(name=ceph.secret_ref.name),
        monitors=ceph.monitors,
    )


def client_secret(service: str) -> str:
    """Where Rook puts a client's key."""
    return f"rook-ceph-client-{service}"


def objects(view: View) -> Iterator[Desired]:
    """A pool for each purpose, and for each service a key with least capabilities."""
    ceph = settings(view)
    if ceph is None or _elsewhere(view):
        return
    pools = ceph.pools
    size = view.replicas(None, COPIES)
    for pool in (pools.images, pools.volumes, pools.ephemeral):
        replicated = rook.Replicated(size=size, require_safe_replica_size=size > 1)
        spec = rook.CephBlockPoolSpec(
            failure_domain="host" if size > 1 else "osd", replicated=replicated
        )
        created = view.child(rook.CEPH_BLOCK_POOL, pool, spec, "ceph")
        yield created._replace(kept=view.keeps_data)
    for service in available.all_services():
        access = available.part_of(service).ceph
        if access is not None:
            osd = ", ".join(_capabilities(access, pools))
            client = rook.CephClientSpec(caps={"mon": MON, "osd": osd})
            yield view.child(rook.CEPH_CLIENT, service.name, client, "ceph")


def _capabilities(access: CephAccess, pools: CephPools) -> Iterator[str]:
    for field in (access.pool, *access.writes):
        yield f"profile rbd pool={getattr(pools, field)}"
    for field in access.reads:
        yield f"profile rbd-read-only pool={getattr(pools, field)}"


def ready(view: View) -> Verdict:
    """Whether pools and keys are there."""
    if _elsewhere(view):
        return Blocked(
            "OtherNamespace",
            "storage.ceph.clusterRef: the CephCluster must be in the ControlPlane's namespace",
        )
    ceph = settings(view)
    name = ceph.cluster_ref.name if ceph and ceph.cluster_ref else ""
    if view.get(rook.CEPH_CLUSTER, name) is None:
        return Waiting(
            "CephClusterMissing",
            f"CephCluster {name!r} (storage.ceph.clusterRef) does not exist in namespace "
            f"{view.namespace!r}",
        )
    for each in objects(view):
        found = view.get(each.kind, each.key.name)
        phase = ((found or {}).get("status") or {}).get("phase")
        if phase != rook.READY_PHASE:
            return Waiting(
                "CephNotReady", f"{each.kind.kind} {each.key.name!r} is {phase or 'being created'}"
            )
    return Ready("Ready")


def _elsewhere(view: View) -> bool:
    ceph = settings(view)
    named = ceph.cluster_ref.namespace if ceph and ceph.cluster_ref else None
    return named not in (None, view.namespace)
