"""nova-compute on the hypervisor nodes, and what it needs to know of each. Pure."""

from collections.abc import Iterator

import msgspec

from cobaltcore.api import cinder
from cobaltcore.api.blocks import SecretKeyRef
from cobaltcore.api.nova import NovaSpec
from cobaltcore.api.pods import Resources
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import (
    NodeAgent,
    Result,
    SecretNeed,
    ServiceScope,
    Task,
    Workload,
)
from cobaltcore.engine.desired import containers
from cobaltcore.engine.desired.volumes import HostPath, Secret, Volume, host_path
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Key, Kind
from cobaltcore.services.nova.steps import cells
from cobaltcore.services.nova.steps.cells import Cell
from cobaltcore.services.nova.steps.hypervisor import CONFIG_DIR

CINDER = "cinder"
"""The Cinder whose volumes servers attach where the spec names no users."""
STATE_DIR = "/var/lib/nova"
LIBVIRT_DIR = "/run/libvirt"
OVS_DIR = "/run/openvswitch"
NODE_DIR = f"{containers.STATE_DIR}/node"
"""Where options are that hold on this node only."""
KEYS_DIR = "/etc/ceph-keys"
LIBVIRT_SECRETS = ("nova", "libvirt-secrets")
RESOURCES = Resources(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "2Gi"})
SYNC_RESOURCES = Resources(requests={"cpu": "10m", "memory": "32Mi"}, limits={"memory": "256Mi"})


def disks(scope: ServiceScope[NovaSpec]) -> list[ceph.Pool]:
    """The pool with disks of servers, if they are in one."""
    rbd = scope.spec.storage.rbd
    return [ceph.Pool("ceph", rbd, rbd.ceph_user(scope.service.name))] if rbd else []


def needs(spec: NovaSpec) -> Iterator[SecretNeed]:
    """Keys of Ceph users."""
    if spec.storage.rbd is not None:
        yield ceph.need(spec.storage.rbd, "nova")
    for each in spec.compute.volume_keys or ():
        keys = _key_names(each.user, each.secret_ref)
        yield SecretNeed(each.secret_ref.name, (keys,), "Ceph key")


def references(key: Key, spec: NovaSpec) -> Iterator[tuple[Kind, Key]]:
    """The Cinder whose volumes servers attach."""
    if spec.compute.volume_keys is None:
        yield cinder.KIND, Key(key.namespace, CINDER)


def connected(scope: ServiceScope[NovaSpec]) -> Result:
    """See that Nova may use its pool."""
    return ceph.connected(scope, disks(scope))


def uses_ceph(scope: ServiceScope[NovaSpec]) -> bool:
    """Whether disks of servers are in Ceph."""
    return bool(disks(scope))


def volume_keys(scope: ServiceScope[NovaSpec]) -> dict[str, SecretKeyRef]:
    """Ceph users whose volumes servers attach, and where their keys are."""
    configured = scope.spec.compute.volume_keys
    if configured is not None:
        return {each.user: each.secret_ref for each in configured}
    found = scope.observed.get(cinder.KIND, scope.sibling(CINDER))
    backends = msgspec.convert(found, cinder.Cinder).spec.backends if found else None
    pools = [each.rbd for each in backends or () if each.rbd is not None]
    return {each.ceph_user(CINDER): each.ceph_secret_ref for each in pools}


def configuration(cell: Cell) -> str:
    """Which configuration the agents of a cell read."""
    return f"compute{cell.suffix}"


def workloads(scope: ServiceScope[NovaSpec]) -> Iterator[Workload]:
    """One set of agents for each cell, and the sync of keys for all: those restart alone."""
    for each in cells.cells(scope.spec):
        yield _workload(scope, each)
    secrets = _arguments(scope)
    if secrets:
        yield _secrets_sync(scope, secrets)


def _workload(scope: ServiceScope[NovaSpec], cell: Cell) -> Workload:
    init = [Task("libvirt-wait", ("cobalt-agent", "nova", "libvirt-wait"))]
    options: tuple[str, ...] = ("--config-file", f"{CONFIG_DIR}/nova.conf")
    if scope.spec.compute.virtualization == "auto":
        target = f"{NODE_DIR}/virtualization.conf"
        command = ("cobalt-agent", "nova", "virtualization", target)
        init.append(Task("virtualization", command))
        options = (*options, "--config-file", target)
    own = {cells.LABEL: cell.name}
    return Workload(
        f"compute{cell.suffix}",
        command=("cobalt-agent", "nova", "service", "nova-compute", *options),
        readiness=("cobalt-agent", "ready", "nova", "service", "compute"),
        condition="ComputeReady",
        needs=("ConductorReady", "LibvirtReady"),
        config=configuration(cell),
        settings=scope.spec.compute,
        volumes=tuple(_volumes()),
        agent=NodeAgent(
            node_environment={
                "OS_DEFAULT__HOST": "spec.nodeName",
                "OS_DEFAULT__MY_IP": "status.hostIP",
                "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR": "status.hostIP",
                "OS_VNC__SERVER_LISTEN": "status.hostIP",
                "OS_VNC__SERVER_PROXYCLIENT_ADDRESS": "status.hostIP",
            },
            init_containers=tuple(init),
            host_pid=True,
            labels={} if cell.is_first else own,
            labels_if_any=own if cell.is_first else {},
        ),
        resources=RESOURCES,
    )


def _secrets_sync(scope: ServiceScope[NovaSpec], secrets: list[str]) -> Workload:
    first = cells.cells(scope.spec)[0]
    return Workload(
        "libvirt-secrets",
        command=("cobalt-agent", *LIBVIRT_SECRETS, *secrets),
        readiness=("cobalt-agent", "ready", *LIBVIRT_SECRETS),
        condition="LibvirtSecretsReady",
        needs=("LibvirtReady",),
        config=configuration(first),
        settings=scope.spec.compute,
        volumes=(host_path("libvirt", LIBVIRT_DIR), *_key_volumes(scope)),
        agent=NodeAgent(),
        resources=SYNC_RESOURCES,
    )


def _arguments(scope: ServiceScope[NovaSpec]) -> list[str]:
    """The keys that libvirt gets, as arguments of their sync."""
    namespace = scope.namespace
    files = {each.user: [each.keyring] for each in disks(scope)}
    for user, reference in volume_keys(scope).items():
        names = [f"{KEYS_DIR}/{user}/{name}" for name in _key_names(user, reference)]
        files.setdefault(user, names)
    return [
        f"{ceph.libvirt_secret(namespace, user)}:{user}:{','.join(paths)}"
        for user, paths in sorted(files.items())
    ]


def _volumes() -> Iterator[Volume]:
    yield host_path("libvirt", LIBVIRT_DIR)
    yield host_path("openvswitch", OVS_DIR)
    yield host_path("instances", STATE_DIR)
    # Nova reads the console of a server at the terminal that libvirt gave it.
    yield Volume("terminals", "/dev/pts", HostPath("/dev/pts", type=""))


def _key_volumes(scope: ServiceScope[NovaSpec]) -> Iterator[Volume]:
    for user, reference in sorted(volume_keys(scope).items()):
        yield Volume(f"ceph-key-{_label(user)}", f"{KEYS_DIR}/{user}", Secret(reference.name))


def _label(user: str) -> str:
    """The user as a name of volumes, which have no dots; different for different users."""
    label = user.lower().replace(".", "-").replace("_", "-")
    return label if label == user else f"{label[:47]}-{digest(user)[:6]}"


def _key_names(user: str, reference: SecretKeyRef) -> tuple[str, ...]:
    return (reference.key,) if reference.key else ceph.key_names(user)
