"""The virtual network of a control plane, unless an existing one is referenced. Pure."""

from collections.abc import Iterator

import msgspec

from cobaltcore.api import ovn
from cobaltcore.api.pods import Workload
from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.operators.controlplane import certificates
from cobaltcore.operators.controlplane.view import View, has_pods, is_ready
from cobaltcore.runtime.meta import Desired

NAME = "ovn"
EXTERNAL = ovn.BridgeMapping(physical_network="external", bridge="br-external")


def objects(view: View) -> Iterator[Desired]:
    """The virtual network, unless one is settings."""
    settings = view.spec.infrastructure.ovn
    replicas = view.replicas(settings.replicas, 3)
    storage = ovn.OvnStorage(storage_class=settings.storage_class)
    if settings.storage_size:
        storage = ovn.OvnStorage(size=settings.storage_size, storage_class=settings.storage_class)
    database = msgspec.convert(
        {
            "replicas": replicas,
            "storage": msgspec.to_builtins(storage),
            "resources": msgspec.to_builtins(settings.resources),
        },
        ovn.OvnDatabase,
    )
    spec = ovn.OVNClusterSpec(
        ovn_image=view.image("ovn"),
        ovs_image=view.image("ovs"),
        image_pull_secrets=view.spec.global_.image_pull_secrets,
        northbound=database,
        southbound=database,
        northd=Workload(replicas=view.replicas(None, 2)),
        controller=ovn.OvnController(bridge_mappings=settings.bridge_mappings or [EXTERNAL]),
        tls=ovn.OvnTls(enabled=True, issuer_ref=certificates.issuer(view))
        if certificates.is_on(view)
        else ovn.OvnTls(),
        deletion_policy=view.spec.deletion_policy,
    )
    yield view.child(ovn.CLUSTER, NAME, spec, NAME)


def serves(view: View) -> bool:
    """Whether both databases have a server."""
    return all(has_pods(view, f"{NAME}-{each}") for each in ("nb", "sb"))


def ready(view: View) -> Verdict:
    """Whether it is ready; an existing one is checked by Neutron."""
    if view.spec.infrastructure.ovn.cluster_ref is not None:
        return Ready("External")
    return is_ready(view, ovn.CLUSTER, NAME)
