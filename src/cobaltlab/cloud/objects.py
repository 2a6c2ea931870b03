"""Objects of the lab's cloud: CephCluster, ControlPlane, and a Deployment with clients. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cobaltcore.api import controlplane
from cobaltcore.api.blocks import NamespacedRef
from cobaltcore.api.controlplane import ControlPlaneSpec, Global
from cobaltcore.api.foreign import kubernetes, rook
from cobaltcore.api.infrastructure import Ceph, Infrastructure, Ovn, Storage
from cobaltcore.api.ovn import BridgeMapping
from cobaltcore.deploy import workload
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.containers import Container, SecurityContext
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.runtime.meta import Desired, Key
from cobaltlab import manifests

NAMESPACE = "openstack"
CONTROL_PLANE = Key(NAMESPACE, "lab")
CEPH = Key(NAMESPACE, "ceph")
TOOLBOX = Key(NAMESPACE, "openstack-client")
CLOUD = controlplane.CloudCredentialsRef()
EXTERNAL_NETWORK = "public"
EXTERNAL_BRIDGE = "br-ex"
GUEST_DIR = "/guest"
SERVICE_NODES = {manifests.CONTROL_PLANE: ""}
"""Services run on the control plane node; hypervisors are for servers."""
FAST_PASSWORD_HASHES = {"identity": {"password_hash_rounds": "4"}}
"""All passwords are long and random, so a low bcrypt cost makes logins faster at no risk."""
SMALL_VNI_RANGE = {"ml2_type_geneve": {"vni_ranges": "1:1000"}}
"""Every Neutron process iterates over all VNIs at its start."""
PING = {"name": "net.ipv4.ping_group_range", "value": "0 2147483647"}
"""Lets every user of a pod ping, without a capability."""
SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder")


def namespace() -> Desired:
    return Desired(kubernetes.NAMESPACE, {"metadata": {"name": NAMESPACE}})


def control_plane(images: Mapping[str, str]) -> Iterator[Desired]:
    """CephCluster and ControlPlane; images are pinned by digest, so that a rebuilt one is rolled out."""
    ceph = rook.CephClusterSpec(mon=rook.Mon(count=1), mgr=rook.Mgr(count=1))
    yield _object(rook.CEPH_CLUSTER, CEPH, msgspec.to_builtins(ceph))
    mapping = BridgeMapping(physical_network=EXTERNAL_NETWORK, bridge=EXTERNAL_BRIDGE)
    spec = ControlPlaneSpec(
        global_=Global(replicas=1),
        infrastructure=Infrastructure(ovn=Ovn(bridge_mappings=[mapping])),
        storage=Storage(ceph=Ceph(cluster_ref=NamespacedRef(name=CEPH.name))),
    )
    pinned: dict[str, dict[str, Any]] = {
        name: {"image": {"digest": _digest(images[name])}, "nodeSelector": SERVICE_NODES}
        for name in SERVICES
    }
    pinned["keystone"]["extraConfig"] = FAST_PASSWORD_HASHES
    pinned["neutron"]["extraConfig"] = SMALL_VNI_RANGE
    body = {**msgspec.to_builtins(spec), "services": pinned}
    yield _object(controlplane.KIND, CONTROL_PLANE, body)


def _digest(reference: str) -> str:
    return reference.partition("@")[2]


def toolbox(images: Mapping[str, str]) -> Iterator[Desired]:
    """A Deployment with the OpenStack client, its clouds.yaml and the guest's disk image."""
    labels = names.labels("toolbox", TOOLBOX.name)
    security = SecurityContext(writable_root=True)
    guest = Container(
        "guest",
        workload.parse_image(images["guest"]),
        volumes=[Volume("guest", "/out")],
        security=security,
    )
    client = Container(
        "client",
        workload.parse_image(images["tempest"]),
        ("sleep", "infinity"),
        environment={"OS_CLOUD": CLOUD.cloud_name},
        volumes=[
            Volume("guest", GUEST_DIR),
            Volume("clouds", "/etc/openstack", Secret(CLOUD.secret_name)),
        ],
        security=security,
    )
    pod = Pod(
        containers=[client],
        init_containers=[guest],
        labels={**labels, **names.OPENSTACK_CLIENT},
        grace_period_seconds=1,
    )
    template = pod.template()
    template["spec"]["securityContext"]["sysctls"] = [PING]
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": names.selector("toolbox", TOOLBOX.name)},
        "strategy": {"type": "Recreate"},
        "template": template,
    }
    yield _object(kubernetes.DEPLOYMENT, TOOLBOX, spec, labels)


def _object(
    kind: Any, key: Key, spec: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> Desired:
    meta: dict[str, Any] = {"name": key.name, "namespace": key.namespace}
    if labels:
        meta["labels"] = dict(labels)
    return Desired(kind, {"metadata": meta, "spec": spec})
