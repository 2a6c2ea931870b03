"""libvirt and QEMU on hypervisor nodes: one DaemonSet and the certificate of its listener. Pure.

Servers outlive the pod. QEMU is started by libvirtd, so libvirtd leaves the pod's control groups for
one of the node before it starts anything; sockets, the state of servers and their disks are
directories of the node, where the next libvirtd finds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.pods import PodSettings, PullSecret
from cobaltcore.engine.desired import configmap, hostpods, pods, workload
from cobaltcore.engine.desired.hostpods import Container, HostPath
from cobaltcore.engine.desired.pods import Mount
from cobaltcore.runtime.meta import Desired, Key

SOCKET = "/run/libvirt/libvirt-sock"
VIRT_TYPE = "/run/libvirt/virt-type"
"""File on every hypervisor: kvm if a guest really ran with it, else qemu."""
INSTANCES = "/var/lib/nova/instances"
TCP_PORT, TLS_PORT = 16509, 16514
MIGRATION_PORTS = (49152, 49215)
PROGRAMS, TLS = "/etc/libvirt-programs", "/etc/libvirt-tls"
KEYS = "/run/libvirt/cobaltcore-pki"
TESTED_SIZE: Mapping[str, Any] = {
    "requests": {"cpu": "50m", "memory": "64Mi"},
    "limits": {"memory": "1Gi"},
}
SMALL: Mapping[str, Any] = {
    "requests": {"cpu": "5m", "memory": "16Mi"},
    "limits": {"memory": "128Mi"},
}
PATHS = (
    HostPath("run", "/run/libvirt"),
    HostPath("state", "/var/lib/libvirt"),
    HostPath("cache", "/var/cache/libvirt"),
    HostPath("log", "/var/log/libvirt"),
    HostPath("settings", "/etc/libvirt/qemu"),
    HostPath("secrets", "/etc/libvirt/secrets"),
    HostPath("instances", INSTANCES, propagation="Bidirectional"),
    HostPath("openvswitch", "/run/openvswitch"),
    HostPath("devices", "/dev"),
    HostPath("control-groups", "/sys/fs/cgroup", "/host/cgroup", type="Directory"),
)


@dataclass(frozen=True, slots=True)
class Libvirt:
    """What the user says about libvirt on the hypervisors."""

    image: Image
    settings: PodSettings = field(default_factory=PodSettings)
    pull_secrets: Sequence[PullSecret] | None = None
    issuer: IssuerRef | None = None
    """Signs the certificate for migrations; None: they are not encrypted."""
    hosts: Sequence[str] = ()
    """Names of all hypervisor nodes, by which they call each other."""


def objects(key: Key, given: Libvirt, *, labels: Mapping[str, str]) -> Iterator[Desired]:
    """The DaemonSet, what runs in it, and the certificate if migrations are encrypted."""
    selector = {k: v for k, v in labels.items() if k != "app.kubernetes.io/managed-by"}
    secret = f"{key.name}-tls"
    if given.issuer is not None:
        yield _certificate(Key(key.namespace, secret), given.issuer, given.hosts, labels)
    programs = configmap.config_map(
        Key(key.namespace, f"{key.name}-programs"), _files(is_encrypted=bool(given.issuer)), labels
    )
    yield programs
    mounts = [Mount("programs", PROGRAMS, config_map=programs.key.name)]
    if given.issuer is not None:
        mounts.append(Mount("tls", TLS, secret=secret, mode=0o400))
    container = Container(
        "libvirtd",
        given.image,
        ("python3", f"{PROGRAMS}/start_libvirt.py"),
        volumes=[*PATHS, *mounts],
        node_environment={"NODE_ADDRESS": "status.hostIP", "NODE_NAME": "spec.nodeName"},
        probes={
            **hostpods.asked(["virsh", "--connect", "qemu:///system", "uri"]),
            "livenessProbe": {
                "exec": {"command": ["virsh", "--connect", "qemu:///system", "uri"]},
                "timeoutSeconds": 30,
                "periodSeconds": 60,
                "failureThreshold": 5,
            },
        },
        resources=pods.resources(TESTED_SIZE, given.settings),
    )
    certificates = Container(
        "certificates",
        given.image,
        ("python3", f"{PROGRAMS}/start_libvirt.py", "certificates"),
        volumes=[PATHS[0], *mounts],
        capabilities=(),
        resources=SMALL,
    )
    template = hostpods.template(
        [container, certificates] if given.issuer is not None else [container],
        labels=labels,
        annotations={},
        settings={
            **hostpods.placement(given.settings, given.pull_secrets),
            # In a namespace of the pod, servers would end with its first process.
            "hostPID": True,
            "terminationGracePeriodSeconds": 20,
        },
    )
    yield workload.daemon_set(key, selector=selector, labels=labels, template=template)


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
    folder = resources.files("cobaltcore.engine.inside")
    return {
        "start_libvirt.py": folder.joinpath("start_libvirt.py").read_text(),
        "libvirtd.conf": _libvirtd_conf(is_encrypted=is_encrypted),
        "qemu.conf": _qemu_conf(is_encrypted=is_encrypted),
    }


def _libvirtd_conf(*, is_encrypted: bool) -> str:
    """LISTEN is replaced by the address of the node, IDENTITY by what tells it from others."""
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
    """Servers are kept apart by the control group of the node, not by ones of libvirt."""
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
