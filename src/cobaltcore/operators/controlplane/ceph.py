"""Pools and keys for images, volumes and disks, on a Ceph that Rook runs. Pure."""

from collections.abc import Iterator

from cobaltcore.api.blocks import NamespacedRef, SecretRef
from cobaltcore.api.foreign import rook
from cobaltcore.api.infrastructure import Ceph, CephPools
from cobaltcore.api.storage import Rbd
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired

MON = "profile rbd"
COPIES = 3


def given(view: View) -> Ceph | None:
    """The Ceph of the control plane, if it has one."""
    return view.spec.storage.ceph if view.spec.storage else None


def is_used(view: View) -> bool:
    """Whether there is anything to make on it."""
    ceph = given(view)
    return ceph is not None and ceph.cluster_ref is not None


def pool_of(view: View, service: str) -> str:
    """The pool that a service writes to."""
    ceph = given(view)
    pools = ceph.pools if ceph else CephPools()
    return {"glance": pools.images, "cinder": pools.volumes, "nova": pools.ephemeral}[service]


def rbd(view: View, service: str) -> Rbd | None:
    """How a service reaches its pool; None without Ceph."""
    ceph = given(view)
    if ceph is None:
        return None
    pool = pool_of(view, service)
    if ceph.cluster_ref is not None:
        reference = NamespacedRef(name=service, namespace=ceph.cluster_ref.namespace)
        return Rbd(
            pool=pool,
            user=service,
            ceph_secret_ref=SecretRef(name=client_secret(service)),
            ceph_client_ref=reference,
        )
    assert ceph.secret_ref is not None  # noqa: S101 admission requires it with monitors
    return Rbd(pool=pool, user=service, ceph_secret_ref=SecretRef(name=ceph.secret_ref.name))


def client_secret(service: str) -> str:
    """Where Rook puts a client's key."""
    return f"rook-ceph-client-{service}"


def objects(view: View) -> Iterator[Desired]:
    """A pool for each purpose and a key for each service; nobody's key opens more than it needs."""
    ceph = given(view)
    if ceph is None or _elsewhere(view):
        return
    pools = ceph.pools
    size = view.replicas(None, COPIES)
    for pool in (pools.images, pools.volumes, pools.ephemeral):
        replicated = rook.Replicated(size=size, require_safe_replica_size=size > 1)
        spec = rook.CephBlockPoolSpec(
            failure_domain="host" if size > 1 else "osd", replicated=replicated
        )
        made = view.made(rook.CEPH_BLOCK_POOL, pool, spec, "ceph")
        yield made._replace(kept=view.keeps_data)
    own = {
        name: f"profile rbd pool={pool_of(view, name)}" for name in ("glance", "cinder", "nova")
    }
    images = f"profile rbd-read-only pool={pools.images}"
    allowed = {
        "glance": own["glance"],
        "cinder": f"{own['cinder']}, {images}",
        "nova": f"{own['nova']}, {own['cinder']}, {images}",
    }
    for service, osd in allowed.items():
        client = rook.CephClientSpec(caps={"mon": MON, "osd": osd})
        yield view.made(rook.CEPH_CLIENT, service, client, "ceph")


def ready(view: View) -> Verdict:
    """Whether pools and keys are there."""
    if _elsewhere(view):
        return Blocked(
            "OtherNamespace",
            "storage.ceph.clusterRef: the CephCluster must be in the ControlPlane's namespace",
        )
    for each in objects(view):
        found = view.get(each.kind, each.key.name)
        phase = ((found or {}).get("status") or {}).get("phase")
        if phase != rook.READY_PHASE:
            return Waiting(
                "CephNotReady", f"{each.kind.kind} {each.key.name!r} is {phase or 'being made'}"
            )
    return Ready("Ready")


def _elsewhere(view: View) -> bool:
    ceph = given(view)
    named = ceph.cluster_ref.namespace if ceph and ceph.cluster_ref else None
    return named not in (None, view.plane.metadata.namespace)
