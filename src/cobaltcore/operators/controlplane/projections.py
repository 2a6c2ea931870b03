"""From what a ControlPlane says about a service to the object of that service. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cobaltcore.api import cinder, glance, neutron, nova, ovn, placement
from cobaltcore.api.blocks import Database, Dependency, NamespacedRef, SecretRef
from cobaltcore.api.pods import Workload
from cobaltcore.api.services import WorkloadSettings
from cobaltcore.engine.desired import names
from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.operators.controlplane import ceph, certificates, infrastructure, sharing
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired

METADATA_SECRET = "metadata-proxy"  # noqa: S105 the name of a Secret
OVN = "ovn"
RBD_BACKEND = "rbd"
EXTERNAL = ovn.BridgeMapping(physical_network="external", bridge="br-external")


def placement_objects(view: View) -> Iterator[Desired]:
    """Placement and its database login."""
    given = view.spec.services.placement
    yield infrastructure.login(view, sharing.database_secret("placement"), "placement")
    spec = placement.PlacementSpec(
        replicas=view.replicas(given.replicas, 2),
        database=Database(**sharing.database("placement")),
        **_service(view, "placement"),
    )
    yield view.made(placement.KIND, "placement", spec, "placement")


def glance_objects(view: View) -> Iterator[Desired]:
    """Glance and its database login; images go to Ceph if there is one."""
    given = view.spec.services.glance
    yield infrastructure.login(view, sharing.database_secret("glance"), "glance")
    rbd = ceph.rbd(view, "glance")
    storage = glance.GlanceStorage(backend="rbd", rbd=rbd)
    if rbd is None:
        storage = glance.GlanceStorage(backend="file", file=glance.FileStore())
    spec = glance.GlanceSpec(
        replicas=view.replicas(given.replicas, 2),
        database=Database(**sharing.database("glance")),
        storage=storage,
        cache=sharing.cache(),
        **_service(view, "glance"),
    )
    yield view.made(glance.KIND, "glance", spec, "glance")


def nova_objects(view: View) -> Iterator[Desired]:
    """Nova and its logins."""
    given = view.spec.services.nova
    yield from _logins(view, "nova")
    shared = _metadata_secret(view)
    yield shared
    rbd = ceph.rbd(view, "nova")
    storage = nova.EphemeralStorage()
    if rbd is not None:
        storage = nova.EphemeralStorage(backend="rbd", rbd=rbd)
    spec = nova.NovaSpec(
        api=_workload(view, given.api),
        scheduler=_workload(view, given.scheduler, nova.Scheduler),
        conductor=_workload(view, given.conductor),
        metadata=msgspec.structs.replace(
            _workload(view, given.metadata, nova.Metadata), shared_secret_ref=_ref(shared)
        ),
        compute=given.compute or nova.Compute(),
        database=nova.NovaDatabase(**sharing.database("nova")),
        messaging=sharing.messaging("nova"),
        cells=given.cells or [nova.Cell(name="cell1")],
        # A hypervisor that cannot report to Placement at its start tries again a minute later.
        depends_on=[Dependency(kind="Placement", name="placement")]
        if view.toggle("placement").enabled
        else None,
        storage=storage,
        cache=sharing.cache(),
        **_service(view, "nova"),
    )
    yield view.made(nova.KIND, "nova", spec, "nova")


def neutron_objects(view: View) -> Iterator[Desired]:
    """Neutron and its logins."""
    given = view.spec.services.neutron
    yield from _logins(view, "neutron")
    shared = _metadata_secret(view)
    yield shared
    own = view.spec.infrastructure.ovn.cluster_ref
    spec = neutron.NeutronSpec(
        api=_workload(view, given.api),
        database=Database(**sharing.database("neutron")),
        messaging=sharing.messaging("neutron"),
        ovn=neutron.Ovn(
            cluster_ref=own or NamespacedRef(name=OVN, namespace=view.plane.metadata.namespace)
        ),
        ml2=given.ml2 or neutron.Ml2(),
        metadata_agent=neutron.MetadataAgent(shared_secret_ref=_ref(shared)),
        cache=sharing.cache(),
        **_service(view, "neutron"),
    )
    yield view.made(neutron.KIND, "neutron", spec, "neutron")


def cinder_objects(view: View) -> Iterator[Desired]:
    """Cinder and its logins; with Ceph its pool is the one backend."""
    given = view.spec.services.cinder
    yield from _logins(view, "cinder")
    rbd = ceph.rbd(view, "cinder")
    volume = given.volume.replicas if given.volume else None
    spec = cinder.CinderSpec(
        api=_workload(view, given.api),
        scheduler=_workload(view, given.scheduler),
        volume=cinder.VolumeWorkload(
            replicas=volume or 1, resources=given.volume.resources if given.volume else None
        ),
        database=Database(**sharing.database("cinder")),
        messaging=sharing.messaging("cinder"),
        backends=[cinder.Backend(name=RBD_BACKEND, rbd=rbd)] if rbd else None,
        default_volume_type=RBD_BACKEND if rbd else None,
        cache=sharing.cache(),
        **_service(view, "cinder"),
    )
    yield view.made(cinder.KIND, "cinder", spec, "cinder")


def ovn_objects(view: View) -> Iterator[Desired]:
    """The virtual network, unless one is given."""
    given = view.spec.infrastructure.ovn
    replicas = view.replicas(given.replicas, 3)
    storage = ovn.OvnStorage(storage_class=given.storage_class)
    if given.storage_size:
        storage = ovn.OvnStorage(size=given.storage_size, storage_class=given.storage_class)
    database = msgspec.convert(
        {
            "replicas": replicas,
            "storage": msgspec.to_builtins(storage),
            "resources": msgspec.to_builtins(given.resources),
        },
        ovn.OvnDatabase,
    )
    tls = certificates.tls(view)
    spec = ovn.OVNClusterSpec(
        ovn_image=view.image("ovn"),
        ovs_image=view.image("ovs"),
        image_pull_secrets=view.spec.global_.image_pull_secrets,
        northbound=database,
        southbound=database,
        northd=Workload(replicas=view.replicas(None, 2)),
        controller=ovn.OvnController(bridge_mappings=given.bridge_mappings or [EXTERNAL]),
        tls=ovn.OvnTls(enabled=True, issuer_ref=tls.issuer_ref, cert_secret_ref=tls.secret_ref)
        if tls is not None and tls.enabled
        else ovn.OvnTls(),
        deletion_policy=view.spec.deletion_policy,
    )
    yield view.made(ovn.CLUSTER, OVN, spec, OVN)


def ovn_ready(view: View) -> Verdict:
    """Whether it runs; a given one is Neutron's to prove."""
    if view.spec.infrastructure.ovn.cluster_ref is not None:
        return Ready("Given")
    return is_ready(view, ovn.CLUSTER, OVN)


def _service(view: View, name: str) -> dict[str, Any]:
    given = view.toggle(name)
    return {
        "image": sharing.image(view, name, given),
        "keystone": sharing.login(view, name),
        **sharing.shared(view, given),
    }


def _logins(view: View, name: str) -> Iterator[Desired]:
    yield infrastructure.login(view, sharing.database_secret(name), name)
    yield infrastructure.login(view, sharing.messaging_secret(name), name)


def _metadata_secret(view: View) -> Desired:
    """What Neutron's metadata agents prove themselves to Nova with; whoever comes first makes it."""
    return infrastructure.password(view, METADATA_SECRET, names.METADATA_SECRET_KEY)


def _ref(made: Desired) -> SecretRef:
    return SecretRef(name=made.key.name)


def _workload(view: View, given: WorkloadSettings | None, kind: type[Any] = Workload) -> Any:
    own = given.replicas if given else None
    return kind(
        replicas=view.replicas(own, 2), resources=given.resources if given is not None else None
    )
