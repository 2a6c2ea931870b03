"""libvirt and QEMU on hypervisor nodes: one DaemonSet, the certificate of its listener and its CA.

Pure. The listener admits other hypervisors only: a client is root on the node. So it
speaks TLS whatever the endpoint of Nova speaks, and the CA signs for hypervisors alone.

Servers outlive the pod. QEMU is started by libvirtd, so libvirtd moves from the pod's cgroup to one
of the node before it starts anything; sockets, the state of servers and their disks are directories
of the node, where the next libvirtd finds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.pods import PodSettings, PullSecret, Resources
from cobaltcore.engine.desired import (
    certificate,
    configmap,
    containers,
    placement,
    probes,
    workload,
)
from cobaltcore.engine.desired.containers import Container, PodField, SecurityContext
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Exec, Probe
from cobaltcore.engine.desired.volumes import ConfigMap, HostPath, Secret, Volume, host_path
from cobaltcore.runtime.meta import Desired, Key

SOCKET = "/run/libvirt/libvirt-sock"
VIRT_TYPE = "/run/libvirt/virt-type"
"""File on every hypervisor: kvm if a guest really ran with it, else qemu."""
INSTANCES = "/var/lib/nova/instances"
TLS_PORT = 16514
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
    hosts: Sequence[str] = ()
    """Names and addresses of all hypervisor nodes, by which they call each other."""


def objects(key: Key, libvirt: Libvirt, *, labels: Mapping[str, str]) -> Iterator[Desired]:
    """The DaemonSet, what runs in it, and the certificate if there are hypervisors to name in it."""
    selector = {k: v for k, v in labels.items() if k != "app.kubernetes.io/managed-by"}
    yield from certificate.authority(
        Key(key.namespace, f"{key.name}-self-signed"),
        Key(key.namespace, authority(key).name),
        common_name=f"Hypervisors of {key}",
        labels=labels,
    )
    if libvirt.hosts:
        yield _certificate(key, libvirt.hosts, labels)
    files = {"libvirtd.conf": _libvirtd_conf(key), "qemu.conf": _qemu_conf()}
    settings = configmap.config_map(Key(key.namespace, f"{key.name}-settings"), files, labels)
    yield settings
    volumes = [
        Volume("config", SETTINGS, ConfigMap(settings.key.name)),
        Volume("tls", TLS, Secret(certificate_key(key).name, mode=0o400)),
    ]
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
    yield Container(
        "certificates",
        libvirt.image,
        ("cobalt-agent", "libvirt", "certificates"),
        volumes=[RUN, *volumes],
        probes=probes.by_command("cobalt-agent", "ready", "libvirt", "certificates"),
        resources=SMALL,
        security=SecurityContext("root", writable_root=True),
    )


def certificate_key(key: Key) -> Key:
    """The certificate of the hypervisors, and the Secret that it is in."""
    return Key(key.namespace, f"{key.name}-tls")


def authority(key: Key) -> IssuerRef:
    """The CA of the hypervisors and of those that connect to them."""
    return IssuerRef(name=f"{key.name}-ca", kind="Issuer")


def _certificate(key: Key, hosts: Sequence[str], labels: Mapping[str, str]) -> Desired:
    """One for all hypervisors: each is server and client of every other one."""
    own = certificate_key(key)
    issued = certificate.certificate(
        own,
        services=(),
        secret=own.name,
        issuer=authority(key),
        labels=labels,
        hosts=sorted(hosts),
    )
    spec = {
        **issued.body["spec"],
        "commonName": _common_name(key),
        "privateKey": {"algorithm": "RSA", "size": 2048, "rotationPolicy": "Always"},
        "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
    }
    return issued._replace(body={**issued.body, "spec": spec})


def _common_name(key: Key) -> str:
    """The subject by which hypervisors know each other."""
    return key.name[:64]


def _libvirtd_conf(key: Key) -> str:
    """LISTEN is replaced by the address of the node, IDENTITY by a UUID of its own."""
    return f"""\
unix_sock_group = "root"
auth_unix_rw = "none"
auth_unix_ro = "none"
listen_addr = "LISTEN"
host_uuid = "IDENTITY"
log_outputs = "3:stderr"
listen_tcp = 0
listen_tls = 1
tls_port = "{TLS_PORT}"
auth_tls = "none"
tls_allowed_dn_list = ["CN={_common_name(key)}"]
key_file = "{KEYS}/tls.key"
cert_file = "{KEYS}/tls.crt"
ca_file = "{KEYS}/ca.crt"
"""


def _qemu_conf() -> str:
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
        'default_tls_x509_cert_dir = "/etc/pki/qemu"',
        "default_tls_x509_verify = 1",
        # Displays are for the proxies of consoles only.
        "vnc_tls = 1",
        'vnc_tls_x509_cert_dir = "/etc/pki/qemu"',
        "vnc_tls_x509_verify = 1",
    ]
    return "\n".join(lines) + "\n"
