"""nova-compute on the hypervisor nodes, and what it needs to know of each. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api import cinder
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Facts, NodeAgent, Result, SecretNeed, Task, Workload
from cobaltcore.engine.desired import pods
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.runtime.meta import Key, Kind
from cobaltcore.services.nova.steps import cells
from cobaltcore.services.nova.steps.cells import Cell
from cobaltcore.services.nova.steps.hypervisor import CONFIG_DIR

CINDER = "cinder"
"""The Cinder whose volumes servers attach where the spec names no users."""
STATE_DIR = "/var/lib/nova"
LIBVIRT_DIR = "/run/libvirt"
SWITCH_DIR = "/run/openvswitch"
NODE_DIR = f"{pods.STATE_DIR}/node"
"""Where options are that hold on this node only."""
KEYS_DIR = "/etc/ceph-keys"
PROGRAMS = ("libvirt_secrets.py", "virtualization.py")
RESOURCES = {
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"memory": "2Gi"},
}


def disks(facts: Facts) -> list[ceph.Pool]:
    """The pool with disks of servers, if they are in one."""
    rbd = facts.spec.storage.rbd
    return [ceph.Pool("ceph", rbd, rbd.user or facts.service.name)] if rbd else []


def needs(spec: Any) -> Iterator[SecretNeed]:
    """Keys of Ceph users."""
    if spec.storage.rbd is not None:
        yield ceph.need(spec.storage.rbd, "nova")
    for each in spec.compute.volume_keys or ():
        yield SecretNeed(each.secret_ref.name, (ceph.key_names(each.user),), "Ceph key")


def references(key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
    """The Cinder whose volumes servers attach."""
    if spec.compute.volume_keys is None:
        yield cinder.KIND, Key(key.namespace, CINDER)


def connected(facts: Facts) -> Result:
    """See that Nova may use its pool."""
    return ceph.connected(facts, disks(facts))


def uses_ceph(facts: Facts) -> bool:
    """Whether disks of servers are in Ceph."""
    return bool(disks(facts))


def volume_keys(facts: Facts) -> dict[str, str]:
    """Ceph users whose volumes servers attach, and the Secrets with their keys."""
    given = facts.spec.compute.volume_keys
    if given is not None:
        return {each.user: each.secret_ref.name for each in given}
    found = facts.observed.get(cinder.KIND, facts.beside(CINDER)) or {"spec": {}}
    backends = [each["rbd"] for each in found["spec"].get("backends") or () if "rbd" in each]
    return {each.get("user", CINDER): each["cephSecretRef"]["name"] for each in backends}


def workloads(facts: Facts) -> Iterator[Workload]:
    """One set of agents for each cell."""
    first, *others = cells.cells(facts.spec)
    taken = {cells.LABEL: tuple(each.name for each in others)} if others else {}
    for each in (first, *others):
        yield _workload(facts, each, taken if each.is_first else {})


def _workload(facts: Facts, cell: Cell, without: dict[str, tuple[str, ...]]) -> Workload:
    secrets = _arguments(facts)
    program = f"{CONFIG_DIR}/libvirt_secrets.py"
    prepare = [Task("libvirt-wait", ("python", program, "once", *secrets))]
    beside = [Task("libvirt-secrets", ("python", program, "keep", *secrets))] if secrets else []
    options: tuple[str, ...] = ("--config-file", f"{CONFIG_DIR}/nova.conf")
    if facts.spec.compute.virtualization == "auto":
        target = f"{NODE_DIR}/virtualization.conf"
        command = ("python", f"{CONFIG_DIR}/virtualization.py", target)
        prepare.append(Task("virtualization", command))
        options = (*options, "--config-dir", NODE_DIR)
    return Workload(
        f"compute{cell.suffix}",
        command=("nova-compute", *options),
        condition="ComputeReady",
        needs=("ConductorReady", "LibvirtReady"),
        config="compute",
        settings=lambda spec: spec.compute,
        secret_environment={}
        if cell.is_first
        else {"OS_DEFAULT__TRANSPORT_URL": cell.transport_variable},
        mounts=_mounts,
        agent=NodeAgent(
            values={
                "OS_DEFAULT__HOST": "spec.nodeName",
                "OS_DEFAULT__MY_IP": "status.hostIP",
                "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR": "status.hostIP",
            },
            prepare=tuple(prepare),
            beside=tuple(beside),
            host_processes=True,
            labels={} if cell.is_first else {cells.LABEL: cell.name},
            without=without,
        ),
        resources=RESOURCES,
    )


def _arguments(facts: Facts) -> list[str]:
    """The keys that libvirt is told, as its helper wants them."""
    namespace = facts.key.namespace
    files = {each.user: [f"{ceph.DIRECTORY}/{each.name}.keyring"] for each in disks(facts)}
    for user in volume_keys(facts):
        names = [f"{KEYS_DIR}/{user}/{name}" for name in ceph.key_names(user)]
        files.setdefault(user, names)
    return [
        f"{ceph.libvirt_secret(namespace, user)}:{user}:{','.join(paths)}"
        for user, paths in sorted(files.items())
    ]


def _mounts(facts: Facts) -> Iterator[Mount]:
    yield Mount("libvirt", LIBVIRT_DIR, host=LIBVIRT_DIR)
    yield Mount("openvswitch", SWITCH_DIR, host=SWITCH_DIR)
    yield Mount("instances", STATE_DIR, host=STATE_DIR)
    # Nova reads the console of a server at the terminal that libvirt gave it.
    yield Mount("terminals", "/dev/pts", host="/dev/pts")
    for user, name in sorted(volume_keys(facts).items()):
        yield Mount(f"ceph-key-{user.lower()}", f"{KEYS_DIR}/{user}", secret=name)
