"""libvirt and QEMU on hypervisor nodes: one DaemonSet and the certificate of its listener. Pure.

Servers outlive the pod. QEMU is started by libvirtd, so libvirtd moves from the pod's cgroup to one
of the node before it starts anything; sockets, the state of servers and their disks are directories
of the node, where the next libvirtd finds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.pods import PodSettings, PullSecret, Resources
from cobaltcore.engine.desired import configmap, containers, placement, probes, workload
from cobaltcore.engine.desired.containers import Container, PodField, SecurityContext
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Exec, Probe
from cobaltcore.engine.desired.volumes import ConfigMap, HostPath, Secret, Volume, host_path
from cobaltcore.runtime.meta import Desired, Key

SOCKET = "/run/libvirt/libvirt-sock"
VIRT_TYPE = "/run/libvirt/virt-type"
"""File on every hypervisor: kvm if a guest really ran with it, else qemu."""
INSTANCES = "/var/lib/nova/instances"
TCP_PORT, TLS_PORT = 16509, 16514
MIGRATION_PORTS = (49152, 49215)
SETTINGS, TLS = "/etc/libvirt-settings", "/etc/libvirt-tls"
KEYS = "/run/libvirt/cobaltcore-pki"
TESTED_SIZE = Resources(requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "1Gi"})
SMALL = Resources(requests={"cpu": "5m", "memory": "16Mi"}, limits={"memory": "128Mi"})
RUN = host_path("run", "/run/libvirt")
HOST_PATHS = (
    RUN,
    host_path("state", "/var/lib/libvirt"),
    host_path("cache", "/var/cache/libvirt"),
    host_path("log", "/var/log/libvirt"),
    host_path("settings", "/etc/libvirt/qemu"),
    host_path("secrets", "/etc/libvirt/secrets"),
    Volume("instances", INSTANCES, HostPath(INSTANCES), propagation="Bidirectional"),
    host_path("openvswitch", "/run/openvswitch"),
    host_path("devices", "/dev"),
    Volume("cgroups", "/host/cgroup", HostPath("/sys/fs/cgroup", type="Directory")),
)
PING = ("virsh", "--connect", "qemu:///system", "uri")


@dataclass(frozen=True, slots=True)
class Libvirt:
    """The configuration of libvirt on the hypervisors."""

    image: Image
    settings: PodSettings = field(default_factory=PodSettings)
    pull_secrets: Sequence[PullSecret] | None = None
    issuer: IssuerRef | None = None
    """Signs the certificate for migrations; None: they are not encrypted."""
    hosts: Sequence[str] = ()
    """Names of all hypervisor nodes, by which they call each other."""


def objects(key: Key, libvirt: Libvirt, *, labels: Mapping[str, str]) -> Iterator[Desired]:
    """The DaemonSet, what runs in it, and the certificate if migrations are encrypted."""
    selector = {k: v for k, v in labels.items() if k != "app.kubernetes.io/managed-by"}
    secret = f"{key.name}-tls"
    if libvirt.issuer is not None:
        yield _certificate(Key(key.namespace, secret), libvirt.issuer, libvirt.hosts, labels)
    settings = configmap.config_map(
        Key(key.namespace, f"{key.name}-settings"),
        _files(is_encrypted=bool(libvirt.issuer)),
        labels,
    )
    yield settings
    volumes = [Volume("config", SETTINGS, ConfigMap(settings.key.name))]
    if libvirt.issuer is not None:
        volumes.append(Volume("tls", TLS, Secret(secret, mode=0o400)))
    pod = Pod(
        containers=list(_containers(libvirt, volumes)),
        labels=labels,
        placement=placement.on_hypervisors(libvirt.settings),
        pull_secrets=libvirt.pull_secrets,
        host_network=True,
        # In a namespace of the pod, servers would end with its first process.
        host_pid=True,
        grace_period_seconds=20,
    )
    yield workload.daemon_set(key, selector=selector, pod=pod)


def _containers(libvirt: Libvirt, volumes: Sequence[Volume]) -> Iterator[Container]:
    """libvirtd, and the sidecar that installs renewed certificates."""
    alive = Probe(Exec(PING), period_seconds=60, timeout_seconds=30, failure_threshold=5)
    yield Container(
        "libvirtd",
        libvirt.image,
        ("cobalt-agent", "libvirt", "libvirtd"),
        volumes=[*HOST_PATHS, *volumes],
        environment={
            "NODE_ADDRESS": PodField("status.hostIP"),
            "NODE_NAME": PodField("spec.nodeName"),
        },
        probes=probes.by_command(*PING, liveness=alive),
        resources=containers.resources(TESTED_SIZE, libvirt.settings),
        security=SecurityContext("privileged", writable_root=True),
    )
    if libvirt.issuer is not None:
        yield Container(
            "certificates",
            libvirt.image,
            ("cobalt-agent", "libvirt", "certificates"),
            volumes=[RUN, *volumes],
            probes=probes.by_command("cobalt-agent", "ready", "libvirt", "certificates"),
            resources=SMALL,
            security=SecurityContext("root", writable_root=True),
        )


def _certificate(
    key: Key, issuer: IssuerRef, hosts: Sequence[str], labels: Mapping[str, str]
) -> Desired:
    """One for all hypervisors: each is server and client of every other one."""
    spec: dict[str, Any] = {
        "secretName": key.name,
        # libvirt refuses a certificate without a subject.
        "commonName": key.name[:64],
        "dnsNames": sorted(hosts),
        "issuerRef": {"name": issuer.name, "kind": issuer.kind},
        "privateKey": {"algorithm": "RSA", "size": 2048, "rotationPolicy": "Always"},
        "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
    }
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(CERTIFICATE, {"metadata": meta, "spec": spec})


def _files(*, is_encrypted: bool) -> dict[str, str]:
    return {
        "libvirtd.conf": _libvirtd_conf(is_encrypted=is_encrypted),
        "qemu.conf": _qemu_conf(is_encrypted=is_encrypted),
    }


def _libvirtd_conf(*, is_encrypted: bool) -> str:
    """LISTEN is replaced by the address of the node, IDENTITY by a UUID of its own."""
    shared = """\
unix_sock_group = "root"
auth_unix_rw = "none"
auth_unix_ro = "none"
listen_addr = "LISTEN"
host_uuid = "IDENTITY"
log_outputs = "3:stderr"
"""
    if not is_encrypted:
        return (
            f'{shared}listen_tls = 0\nlisten_tcp = 1\ntcp_port = "{TCP_PORT}"\nauth_tcp = "none"\n'
        )
    return f"""\
{shared}listen_tcp = 0
listen_tls = 1
tls_port = "{TLS_PORT}"
auth_tls = "none"
key_file = "{KEYS}/tls.key"
cert_file = "{KEYS}/tls.crt"
ca_file = "{KEYS}/ca.crt"
"""


def _qemu_conf(*, is_encrypted: bool) -> str:
    """Servers are kept apart by the cgroup of the node, not by cgroups of libvirt."""
    first, last = MIGRATION_PORTS
    lines = [
        'user = "root"',
        'group = "root"',
        "dynamic_ownership = 0",
        "remember_owner = 0",
        'security_driver = "none"',
        "namespaces = []",
        "cgroup_controllers = []",
        'stdio_handler = "file"',
        f"migration_port_min = {first}",
        f"migration_port_max = {last}",
    ]
    if is_encrypted:
        lines += ['default_tls_x509_cert_dir = "/etc/pki/qemu"', "default_tls_x509_verify = 1"]
    return "\n".join(lines) + "\n"
