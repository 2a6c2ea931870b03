"""The examples of the requirements as they run in a lab: every change with its reason."""

import copy
from collections.abc import Callable
from typing import Any

from cobaltcore.api import release
from cobaltcore.engine import releases
from cobaltcore.engine.desired import names
from cobaltcore.runtime.meta import Object
from tests.support import objects, openstack

KINDS = ("Keystone", "Glance", "Placement", "Nova", "Neutron", "OVNCluster", "Cinder")
ISSUER = "lab-ca"
TRUST = "c5c3-trust"
"""The Secret with the CA certificate of the issuer."""
OVN_CERTIFICATE = "ovn-tls-certs"
BROKER = "rabbitmq:5671"

UNAVAILABLE: dict[str, dict[str, Any]] = {
    # The policy overrides would lock K-ORC out.
    "Keystone": {"spec.policyOverrides": objects.REMOVED},
    # The image of the example does not exist.
    "Placement": {"spec.image": {"repository": f"{releases.REGISTRY}/placement", "tag": "14.0.0"}},
    # No Cortex, no KVM, no third pool.
    "Nova": {
        "spec.scheduler.externalScheduler.enabled": False,
        "spec.compute": objects.REMOVED,
        "spec.storage": objects.REMOVED,
    },
}
"""Changes of the repository's examples, for features that a lab lacks."""

DOCUMENTED_CONDITIONS = {
    "Keystone": {"Ready", "DatabaseReady", "FernetKeysReady"},
    "Glance": {"Ready", "DatabaseReady", "CephConnected"},
    "Placement": {"Ready"},
    "Nova": {"Ready", "APIReady", "SchedulerReady", "ConductorReady"},
    "Neutron": {"Ready", "OVNConnected"},
    "OVNCluster": {"Ready", "NorthboundReady", "SouthboundReady", "ControllersReady"},
    "Cinder": {"Ready", "CephConnected"},
}
"""The conditions of the requirements, used where their texts are not available."""
PORTS = {
    "Keystone": 5000,
    "Glance": 9292,
    "Placement": 8778,
    "Nova": 8774,
    "Neutron": 9696,
    "Cinder": 8776,
}


def example(kind: str) -> Object:
    """The example of the requirements if available, else that of the repository."""
    found = openstack.documents(kind)
    documented = [each for each in found if "status" in each]
    return documented[0] if documented else objects.changed(found[0], UNAVAILABLE.get(kind, {}))


def documented_conditions(kind: str) -> set[str]:
    """The conditions that are True in the requirements."""
    status = example(kind).get("status")
    if status is None:
        return DOCUMENTED_CONDITIONS[kind]
    return {each["type"] for each in status["conditions"] if each["status"] == "True"}


def documented_endpoint(kind: str) -> str:
    status = example(kind).get("status")
    name = kind.lower()
    default = f"https://{name}.openstack.svc.cluster.local:{PORTS[kind]}"
    return str(status["endpoint"]) if status else default


def in_lab(kind: str) -> Object:
    """The example with all changes below, without its status."""
    found = copy.deepcopy(example(kind))
    found.pop("status", None)
    for change in CHANGES:
        change(found["kind"], found["spec"])
    return found


def one_replica_each(kind: str, spec: Any) -> None:
    """More replicas on one machine bring nothing; the default would be two."""
    unset = {"Nova": "metadata", "OVNCluster": "northd"}.get(kind)
    if unset is not None:
        spec.setdefault(unset, {})["replicas"] = 1
    for each in (spec, *spec.values()):
        if isinstance(each, dict) and "replicas" in each:
            each["replicas"] = 1


def one_broker_and_one_cache(kind: str, spec: Any) -> None:
    """The lab runs one broker and one cache; the RabbitMQ operator names pods differently."""
    if "messaging" in spec:
        login = spec["messaging"]["secretRef"]
        spec["messaging"] = {"hosts": [BROKER], "secretRef": login}
    if "cache" in spec:
        servers = spec["cache"].get("servers", ["memcached-0.memcached:11211"])
        spec["cache"] = {**spec["cache"], "servers": servers[:1]}
        spec["cache"].pop("clusterRef", None)


def external_databases(kind: str, spec: Any) -> None:
    """As in the requirements, the Secret names the server."""
    for field in ("clusterRef", "host", "port"):
        spec.get("database", {}).pop(field, None)


def ceph_only(kind: str, spec: Any) -> None:
    """The repository's example has an NFS backend, which a lab lacks."""
    if "backends" in spec:
        spec["backends"] = [each for each in spec["backends"] if "rbd" in each]


def built_images(kind: str, spec: Any) -> None:
    """The lab builds OVN and OVS of Debian, with other tags."""
    for name in ("ovn", "ovs"):
        if f"{name}Image" in spec:
            spec[f"{name}Image"]["tag"] = releases.image_tag(name, release.DEFAULT)


def small_volumes(kind: str, spec: Any) -> None:
    """The lab has only its default StorageClass."""
    for each in (spec.get("northbound"), spec.get("southbound")):
        if each is not None:
            each["storage"] = {"size": "1Gi"}


def tls_endpoints(kind: str, spec: Any) -> None:
    """The examples have https endpoints without an issuer; here a private CA issues."""
    if kind != "OVNCluster":
        spec["tls"] = {"enabled": True, "issuerRef": {"name": ISSUER, "kind": "ClusterIssuer"}}
    if "keystone" in spec:
        spec["keystone"]["caSecretRef"] = {"name": TRUST}


def tls_servers(kind: str, spec: Any) -> None:
    """The administrator's database and broker accept nothing else."""
    for block, server in (("database", names.MARIADB), ("messaging", names.RABBITMQ)):
        if block in spec:
            spec[block]["tls"] = {"caSecretRef": {"name": names.certificate_secret(server)}}


def tls_connections(kind: str, spec: Any) -> None:
    """Neutron's example has tcp: connections although the OVNCluster's enables TLS."""
    if kind != "Neutron":
        return
    for side in ("nbConnection", "sbConnection"):
        spec["ovn"][side] = spec["ovn"][side].replace("tcp:", "ssl:")
    spec["ovn"]["tlsSecretRef"] = {"name": OVN_CERTIFICATE}


CHANGES: tuple[Callable[[str, Any], None], ...] = (
    one_replica_each,
    one_broker_and_one_cache,
    external_databases,
    ceph_only,
    built_images,
    small_volumes,
    tls_endpoints,
    tls_servers,
    tls_connections,
)
