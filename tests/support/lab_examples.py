"""The examples of the requirements as they run in a lab: everything that is changed, and why."""

import copy
from collections.abc import Callable
from typing import Any

from cobaltcore.api import release
from cobaltcore.engine import releases
from cobaltcore.runtime.meta import Object
from tests.support import objects, openstack

KINDS = ("Keystone", "Glance", "Placement", "Nova", "Neutron", "OVNCluster", "Cinder")
ISSUER = "lab-ca"
TRUST = "c5c3-trust"
"""The Secret with the certificate of the authority behind the issuer."""
OVN_CERTIFICATE = "ovn-tls-certs"
BROKER = "rabbitmq:5672"

OURS_ONLY: dict[str, dict[str, Any]] = {
    # Its map of what to audit is a file that no image has; its rules would lock K-ORC out.
    "Keystone": {"spec.middleware": objects.REMOVED, "spec.policyOverrides": objects.REMOVED},
    # An image that nobody has built.
    "Placement": {"spec.image": {"repository": f"{releases.REGISTRY}/placement", "tag": "14.0.0"}},
    # No Cortex, no KVM, no third pool.
    "Nova": {
        "spec.scheduler.externalScheduler.enabled": False,
        "spec.compute": objects.REMOVED,
        "spec.storage": objects.REMOVED,
    },
}
"""What our own examples show beyond those of the requirements, and a lab has nothing for."""

SHOWN = {
    "Keystone": {"Ready", "DatabaseReady", "FernetKeysReady"},
    "Glance": {"Ready", "DatabaseReady", "CephConnected"},
    "Placement": {"Ready"},
    "Nova": {"Ready", "APIReady", "SchedulerReady", "ConductorReady"},
    "Neutron": {"Ready", "OVNConnected"},
    "OVNCluster": {"Ready", "NorthboundReady", "SouthboundReady", "ControllersReady"},
    "Cinder": {"Ready", "CephConnected"},
}
"""The conditions of the requirements, for those who do not have the texts."""
PORTS = {
    "Keystone": 5000,
    "Glance": 9292,
    "Placement": 8778,
    "Nova": 8774,
    "Neutron": 9696,
    "Cinder": 8776,
}


def example(kind: str) -> Object:
    """The example of the requirements where these are at hand, else ours without its extras."""
    found = openstack.documents(kind)
    shown = [each for each in found if "status" in each]
    return shown[0] if shown else objects.changed(found[0], OURS_ONLY.get(kind, {}))


def shown_conditions(kind: str) -> set[str]:
    """The conditions that the requirements show as True."""
    status = example(kind).get("status")
    if status is None:
        return SHOWN[kind]
    return {each["type"] for each in status["conditions"] if each["status"] == "True"}


def shown_endpoint(kind: str) -> str:
    """The endpoint that the requirements show."""
    status = example(kind).get("status")
    name = kind.lower()
    told = f"https://{name}.openstack.svc.cluster.local:{PORTS[kind]}"
    return str(status["endpoint"]) if status else told


def in_lab(kind: str) -> Object:
    """The example with all changes below, and without the status that it should reach."""
    found = copy.deepcopy(example(kind))
    found.pop("status", None)
    for change in CHANGES:
        change(found["kind"], found["spec"])
    return found


def one_pod_of_everything(kind: str, spec: Any) -> None:
    """Three nodes on one machine win nothing by more; what is unset would be two."""
    unset = {"Nova": "metadata", "OVNCluster": "northd"}.get(kind)
    if unset is not None:
        spec.setdefault(unset, {})["replicas"] = 1
    for each in (spec, *spec.values()):
        if isinstance(each, dict) and "replicas" in each:
            each["replicas"] = 1


def one_server_of_each_sort(kind: str, spec: Any) -> None:
    """One broker and one cache run; a broker's pods have other names under Rabbit's operator."""
    if "messaging" in spec:
        login = spec["messaging"]["secretRef"]
        spec["messaging"] = {"hosts": [BROKER], "secretRef": login}
    if "cache" in spec:
        servers = spec["cache"].get("servers", ["memcached-0.memcached:11211"])
        spec["cache"] = {**spec["cache"], "servers": servers[:1]}
        spec["cache"].pop("clusterRef", None)


def given_databases(kind: str, spec: Any) -> None:
    """As in the requirements: the Secret names the server. Ours show the other two ways."""
    for way in ("clusterRef", "host", "port"):
        spec.get("database", {}).pop(way, None)


def ceph_alone(kind: str, spec: Any) -> None:
    """Our Cinder has a second backend on an NFS server, which no lab runs."""
    if "backends" in spec:
        spec["backends"] = [each for each in spec["backends"] if "rbd" in each]


def built_images(kind: str, spec: Any) -> None:
    """The lab builds OVN and OVS of Debian; images of services have the tags of the examples."""
    for name in ("ovn", "ovs"):
        if f"{name}Image" in spec:
            spec[f"{name}Image"]["tag"] = releases.image_tag(name, release.DEFAULT)


def small_volumes(kind: str, spec: Any) -> None:
    """The lab has one class of storage, its default, and it has another name."""
    for each in (spec.get("northbound"), spec.get("southbound")):
        if each is not None:
            each["storage"] = {"size": "1Gi"}


def encrypted_endpoints(kind: str, spec: Any) -> None:
    """The examples show https endpoints and leave out who signs; here it is a private authority."""
    if kind != "OVNCluster":
        spec["tls"] = {"enabled": True, "issuerRef": {"name": ISSUER, "kind": "ClusterIssuer"}}
    if "keystone" in spec:
        spec["keystone"]["caSecretRef"] = {"name": TRUST}


def encrypted_connections(kind: str, spec: Any) -> None:
    """Neutron's example says tcp: and the OVNCluster's says TLS; who believes tcp: cannot connect."""
    if kind != "Neutron":
        return
    for side in ("nbConnection", "sbConnection"):
        spec["ovn"][side] = spec["ovn"][side].replace("tcp:", "ssl:")
    spec["ovn"]["tlsSecretRef"] = {"name": OVN_CERTIFICATE}


CHANGES: tuple[Callable[[str, Any], None], ...] = (
    one_pod_of_everything,
    one_server_of_each_sort,
    given_databases,
    ceph_alone,
    built_images,
    small_volumes,
    encrypted_endpoints,
    encrypted_connections,
)
