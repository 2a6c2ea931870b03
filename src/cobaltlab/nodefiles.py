"""Writes the files of all nodes from the record of a lab: node.json, configuration, keys."""

from collections.abc import Mapping
from pathlib import Path

from cobaltcore.runtime import files
from cobaltlab import (
    artifacts,
    daemons,
    initconfig,
    manifests,
    mounts,
    network,
    nodeconfig,
    nodespec,
    record,
    statedir,
    subnets,
)

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""


def node_specs(instance: record.Instance) -> list[nodespec.NodeSpec]:
    """All nodes of a lab: the control plane first, then hypervisors."""
    plan = subnets.Subnets(instance.index)
    return [
        nodespec.NodeSpec(instance=instance.name, name=node_name(n), number=n, subnets=plan)
        for n in range(instance.nodes)
    ]


def node_name(number: int) -> str:
    return f"hypervisor-{number}" if number else "control-plane"


def roles(spec: nodespec.NodeSpec, instance: record.Instance) -> list[str]:
    """Role labels of a node; a single node has both roles."""
    if spec.number:
        return [manifests.HYPERVISOR]
    alone = instance.nodes == 1
    return [manifests.CONTROL_PLANE, *([manifests.HYPERVISOR] if alone else [])]


def write(
    state_dir: statedir.StateDir, instance: record.Instance, images: Mapping[str, str]
) -> list[str]:
    """Write the files of all nodes; return the nodes whose files have changed."""
    specs = node_specs(instance)
    state_dir.keys.kubeconfig(
        daemons.ADMIN, server=specs[0].subnets.api_url, groups=("system:masters",)
    )
    changed = []
    for spec in specs:
        texts = _configuration(state_dir, spec, images)
        config = _init_config(state_dir, instance, spec)
        if _write(state_dir.node(spec.name), {**texts, "node.json": initconfig.encode(config)}):
            changed.append(spec.name)
    return changed


def _configuration(
    state_dir: statedir.StateDir, spec: nodespec.NodeSpec, images: Mapping[str, str]
) -> dict[str, str]:
    keys = daemons.kubelet_keys(state_dir.keys, spec)
    authority = state_dir.keys.authority().certificate
    return {
        "containerd.toml": nodeconfig.containerd(
            images[artifacts.PAUSE], registries=state_dir.node(spec.name) / "registries"
        ),
        "registries/_default/hosts.toml": nodeconfig.registry(str(spec.subnets.host)),
        "kubelet.yaml": nodeconfig.kubelet(spec, keys=keys, authority=authority),
        "kubelet.kubeconfig": daemons.kubelet_kubeconfig(state_dir.keys, spec).read_text(),
        "proxy.yaml": nodeconfig.proxy(
            spec, kubeconfig=daemons.proxy_kubeconfig(state_dir.keys, spec)
        ),
        f"root{nodeconfig.NETWORKS}/10-pods.conflist": nodeconfig.pod_network(spec),
        "audit-policy.yaml": _AUDIT_POLICY,
    }


def _init_config(
    state_dir: statedir.StateDir, instance: record.Instance, spec: nodespec.NodeSpec
) -> initconfig.InitConfig:
    programs = daemons.Programs(
        directory=state_dir.programs, pause_archive=state_dir.images / f"{artifacts.PAUSE}.tar"
    )
    directory = state_dir.node(spec.name)
    running = daemons.node_daemons(spec, programs, state_dir.keys, directory)
    if instance.network_policies:
        running.append(daemons.network_policies(spec, programs, state_dir.keys))
    if spec.number == 0:
        control_plane = daemons.ControlPlane(
            spec=spec,
            programs=programs,
            keys=state_dir.keys,
            data=directory,
            audit_log=directory / "log" / "audit.log" if instance.audit else None,
        )
        running = [*control_plane.daemons(), *running]
    return initconfig.InitConfig(
        name=spec.name,
        number=spec.number,
        directory=str(directory),
        bind_mounts=[str(each) for each in (state_dir.directory, *_hidden_images(instance))],
        network=network.node_commands(spec.subnets, spec.number),
        files={
            "hostname": f"{spec.name}\n",
            "hosts": _hosts(instance),
            "resolv.conf": nodeconfig.resolver(spec),
        },
        daemons=running,
        programs=artifacts.build_id(state_dir),
    )


def _hidden_images(instance: record.Instance) -> list[Path]:
    """The image store, if a private directory of the nodes would cover it."""
    directory = Path(instance.images)
    if not mounts.hides(directory):
        return []
    directory.mkdir(parents=True, exist_ok=True)
    return [directory]


def _hosts(instance: record.Instance) -> str:
    """/etc/hosts with all possible nodes, so that a new node changes no other."""
    plan = subnets.Subnets(instance.index)
    nodes = [f"{plan.node(n)} {node_name(n)}\n" for n in range(subnets.MAX_NODES)]
    return "".join(["127.0.0.1 localhost\n", "::1 localhost\n", *nodes])


def _write(directory: Path, texts: Mapping[str, str]) -> bool:
    """Write files that differ; return whether an existing one has changed."""
    changed = False
    for name, text in texts.items():
        path = directory / name
        known = path.read_text() if path.exists() else None
        if known != text:
            changed = changed or known is not None
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, text.encode(), mode=0o600)
    return changed
