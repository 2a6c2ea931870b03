"""From an instance's record to the files of its nodes: descriptions, settings, keys."""

from collections.abc import Mapping
from pathlib import Path

from cobaltcore.lab import (
    artefacts,
    daemons,
    home,
    links,
    manifests,
    mounts,
    nodeconfig,
    nodespec,
    ranges,
    record,
)
from cobaltcore.runtime import files

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""


def seats(instance: record.Instance) -> list[nodeconfig.Seat]:
    """All nodes of an instance: the control plane first, then hypervisors."""
    plan = ranges.Ranges(instance.index)
    return [
        nodeconfig.Seat(instance=instance.name, name=node_name(n), number=n, ranges=plan)
        for n in range(instance.nodes)
    ]


def node_name(number: int) -> str:
    """The name of a node."""
    return f"hypervisor-{number}" if number else "control-plane"


def roles(seat: nodeconfig.Seat, instance: record.Instance) -> list[str]:
    """What a node is for; the only node of an instance is for everything."""
    if seat.number:
        return [manifests.HYPERVISOR]
    alone = instance.nodes == 1
    return [manifests.CONTROL_PLANE, *([manifests.HYPERVISOR] if alone else [])]


def write(place: home.Home, instance: record.Instance, images: Mapping[str, str]) -> list[str]:
    """Write the files of all nodes; return the nodes whose files have changed."""
    everyone = seats(instance)
    place.keys.kubeconfig(
        daemons.ADMIN, server=everyone[0].ranges.api_url, groups=("system:masters",)
    )
    changed = []
    for seat in everyone:
        texts = _settings(place, seat, images)
        node = _node(place, instance, seat)
        if _write(place.node(seat.name), {**texts, "node.json": nodespec.encode(node)}):
            changed.append(seat.name)
    return changed


def _settings(
    place: home.Home, seat: nodeconfig.Seat, images: Mapping[str, str]
) -> dict[str, str]:
    keys = daemons.kubelet_keys(place.keys, seat)
    authority = place.keys.authority().certificate
    return {
        "containerd.toml": nodeconfig.containerd(
            images[artefacts.PAUSE], registries=place.node(seat.name) / "registries"
        ),
        "registries/_default/hosts.toml": nodeconfig.registry(str(seat.ranges.host)),
        "kubelet.yaml": nodeconfig.kubelet(seat, keys=keys, authority=authority),
        "kubelet.kubeconfig": daemons.kubelet_kubeconfig(place.keys, seat).read_text(),
        "proxy.yaml": nodeconfig.proxy(
            seat, kubeconfig=daemons.proxy_kubeconfig(place.keys, seat)
        ),
        f"root{nodeconfig.NETWORKS}/10-pods.conflist": nodeconfig.pod_network(seat),
        "audit-policy.yaml": _AUDIT_POLICY,
    }


def _node(place: home.Home, instance: record.Instance, seat: nodeconfig.Seat) -> nodespec.Node:
    programs = daemons.Programs(
        directory=place.programs, pause_archive=place.images / f"{artefacts.PAUSE}.tar"
    )
    directory = place.node(seat.name)
    running = daemons.node_daemons(seat, programs, place.keys, directory)
    if seat.number == 0:
        control_plane = daemons.ControlPlane(
            seat=seat,
            programs=programs,
            keys=place.keys,
            data=directory,
            audit_log=directory / "log" / "audit.log" if instance.audit else None,
        )
        running = [*control_plane.daemons(), *running]
    return nodespec.Node(
        name=seat.name,
        number=seat.number,
        directory=str(directory),
        carried=[str(each) for each in (place.directory, *_hidden_images(instance))],
        network=links.inside(seat.ranges, seat.number),
        files={
            "hostname": f"{seat.name}\n",
            "hosts": _hosts(instance),
            "resolv.conf": nodeconfig.resolver(seat),
        },
        daemons=running,
        programs=artefacts.build_of(place),
    )


def _hidden_images(instance: record.Instance) -> list[Path]:
    """The images that nodes link to, if these would not be seen where they are."""
    directory = Path(instance.images)
    if not mounts.hides(directory):
        return []
    directory.mkdir(parents=True, exist_ok=True)
    return [directory]


def _hosts(instance: record.Instance) -> str:
    """Names that need no name server; also of nodes to come, so that one more changes no other."""
    plan = ranges.Ranges(instance.index)
    nodes = [f"{plan.node(n)} {node_name(n)}\n" for n in range(ranges.MOST_NODES)]
    return "".join(["127.0.0.1 localhost\n", "::1 localhost\n", *nodes])


def _write(directory: Path, texts: Mapping[str, str]) -> bool:
    """Write what differs; tell whether an existing file has changed."""
    changed = False
    for name, text in texts.items():
        path = directory / name
        known = path.read_text() if path.exists() else None
        if known != text:
            changed = changed or known is not None
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, text.encode(), mode=0o600)
    return changed
