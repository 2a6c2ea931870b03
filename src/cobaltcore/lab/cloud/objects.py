"""What the lab asks for: a small Ceph, a small control plane, and a place to type commands. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cobaltcore.api import controlplane
from cobaltcore.api.blocks import NamespacedRef, Tls
from cobaltcore.api.controlplane import ControlPlaneSpec, Global
from cobaltcore.api.foreign import rook
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, NAMESPACE
from cobaltcore.api.infrastructure import Ceph, Infrastructure, Ovn, Storage
from cobaltcore.api.ovn import BridgeMapping
from cobaltcore.engine.desired import names
from cobaltcore.lab import manifests
from cobaltcore.runtime.meta import Desired, Key

SPACE = "openstack"
PLANE = Key(SPACE, "lab")
CEPH = Key(SPACE, "ceph")
TOOLBOX = Key(SPACE, "openstack-client")
CLOUD = controlplane.CloudCredentialsRef()
EXTERNAL_NETWORK = "public"
EXTERNAL_BRIDGE = "br-ex"
GUEST_DIR = "/guest"
SERVICE_NODES = {manifests.CONTROL_PLANE: ""}
"""Hypervisors are for servers; each node that runs a service also has to unpack its image."""
QUICK_LOGINS = {"identity": {"password_hash_rounds": "4"}}
"""All secrets here are long and random, so that slow hashes would cost a login and win nothing."""
FEW_NETWORKS = {"ml2_type_geneve": {"vni_ranges": "1:1000"}}
"""Each process of Neutron goes through all numbers that networks can have when it starts."""
SERVICES = ("keystone", "glance", "placement", "nova", "neutron", "cinder")


def namespace() -> Desired:
    """Where all of it lives."""
    return Desired(NAMESPACE, {"metadata": {"name": SPACE}})


def cloud(images: Mapping[str, str]) -> Iterator[Desired]:
    """The cloud itself; services run the images of these digests, so that a new build is rolled out."""
    ceph = rook.CephClusterSpec(mon=rook.Mon(count=1), mgr=rook.Mgr(count=1))
    yield _made(rook.CEPH_CLUSTER, CEPH, msgspec.to_builtins(ceph))
    mapping = BridgeMapping(physical_network=EXTERNAL_NETWORK, bridge=EXTERNAL_BRIDGE)
    spec = ControlPlaneSpec(
        global_=Global(replicas=1, tls=Tls(enabled=True)),
        infrastructure=Infrastructure(ovn=Ovn(bridge_mappings=[mapping])),
        storage=Storage(ceph=Ceph(cluster_ref=NamespacedRef(name=CEPH.name))),
    )
    pinned: dict[str, dict[str, Any]] = {
        name: {"image": {"digest": _digest(images[name])}, "nodeSelector": SERVICE_NODES}
        for name in SERVICES
    }
    pinned["keystone"]["extraConfig"] = QUICK_LOGINS
    pinned["neutron"]["extraConfig"] = FEW_NETWORKS
    body = {**msgspec.to_builtins(spec), "services": pinned}
    yield _made(controlplane.KIND, PLANE, body)


def _digest(reference: str) -> str:
    return reference.partition("@")[2]


def toolbox(images: Mapping[str, str]) -> Iterator[Desired]:
    """A pod with OpenStack's client, logged in, and the files of the guest."""
    labels = names.labels("toolbox", TOOLBOX.name)
    selector = {"matchLabels": names.selector("toolbox", TOOLBOX.name)}
    rights = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    guest = {"name": "guest", "mountPath": GUEST_DIR}
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": names.USER_ID,
            "fsGroup": names.USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            {
                "name": "guest",
                "image": images["guest"],
                "volumeMounts": [{"name": "guest", "mountPath": "/out"}],
                "securityContext": rights,
            }
        ],
        "containers": [
            {
                "name": "client",
                "image": images["tempest"],
                "command": ["sleep", "infinity"],
                "env": [{"name": "OS_CLOUD", "value": CLOUD.cloud_name}],
                "volumeMounts": [guest, {"name": "clouds", "mountPath": "/etc/openstack"}],
                "securityContext": rights,
            }
        ],
        "volumes": [
            {"name": "guest", "emptyDir": {}},
            {"name": "clouds", "secret": {"secretName": CLOUD.secret_name}},
        ],
    }
    spec = {
        "replicas": 1,
        "selector": selector,
        "strategy": {"type": "Recreate"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    yield _made(DEPLOYMENT, TOOLBOX, spec, labels)


def _made(
    kind: Any, key: Key, spec: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> Desired:
    meta: dict[str, Any] = {"name": key.name, "namespace": key.namespace}
    if labels:
        meta["labels"] = dict(labels)
    return Desired(kind, {"metadata": meta, "spec": spec})
