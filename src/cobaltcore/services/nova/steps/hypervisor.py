"""libvirt on the hypervisor nodes, and that Nova knows them. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, NODE
from cobaltcore.api.nova import NovaSpec
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine import jobs, readiness, releases, workloads
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import libvirt, workload
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime.meta import Desired, Object
from cobaltcore.services.nova.steps import cells, claims

COMPONENT = "libvirt"
CONFIG_DIR = "/etc/nova"


def libvirt_runs(scope: ServiceScope[NovaSpec]) -> Result:
    """Run libvirt on every hypervisor; its pods wait for the certificate."""
    conflict = claims.conflict(scope, _nodes(scope))
    if conflict:
        return Result(Blocked("NodeClaimed", conflict))
    objects = list(_objects(scope))
    key = scope.named(COMPONENT)
    found = workload.progress_on_nodes(scope.observed.get(DAEMON_SET, key))
    if not found.settled:
        issued = readiness.of(scope.observed, CERTIFICATE, libvirt.certificate_key(key))
        if _nodes(scope) and not isinstance(issued, Ready):
            return Result(Waiting("CertificatePending", issued.message), objects)
        why = workloads.pod_failure(scope, COMPONENT)
        text = found.describe(key.name)
        return Result(Waiting("DeploymentProgressing", f"{text}{why}"), objects)
    return Result(Ready("DeploymentAvailable", f"{found.ready} nodes"), objects)


def hosts_known(scope: ServiceScope[NovaSpec]) -> Result:
    """Have the hypervisors mapped to their cells; a node that comes later or moves is another run."""
    known = [each.name for each in cells.cells(scope.spec)]
    labelled = {each["metadata"]["name"]: _cell(each) or known[0] for each in _nodes(scope)}
    hosts = [f"{name}={cell}" for name, cell in sorted(labelled.items()) if cell in known]
    outside = [
        f"{name!r} has the label {cells.LABEL}={cell} of no cell in spec.cells"
        for name, cell in sorted(labelled.items())
        if cell not in known
    ]
    if not hosts:
        return Result(Ready("NoHosts", "; ".join(["no hypervisor nodes", *outside])))
    task = Task("hosts", ("cobalt-agent", "nova", "discover-hosts", *hosts))
    ran = jobs.run_once(scope, task, running="WaitingForHosts")
    if not isinstance(ran.verdict, Ready):
        return ran
    message = "; ".join([f"{len(hosts)} hosts", *outside])
    return Result(Ready("HostsKnown", message), ran.objects, ran.removals)


class ComputeService(msgspec.Struct):
    """A nova-compute as the API describes it."""

    host: str
    state: str
    status: str


def services_down(scope: ServiceScope[NovaSpec], rows: Sequence[msgspec.Struct]) -> str:
    """Which nova-computes are down in the API although their pods are ready."""
    nodes = set().union(
        *(workloads.nodes(scope, f"compute{cell.suffix}") for cell in cells.cells(scope.spec))
    )
    found = [each for each in rows if isinstance(each, ComputeService) and each.host in nodes]
    down = sorted(each.host for each in found if (each.state, each.status) == ("down", "enabled"))
    if not down:
        return ""
    up = f"{len(found) - len(down)}/{len(found)} nova-compute are up"
    return f"{up}: that on {down[0]!r} is down; its log has the cause"


def image(scope: ServiceScope[NovaSpec]) -> Image:
    """That of the spec, or that of the newest release from where Nova's image comes."""
    configured: Image | None = scope.spec.compute.libvirt_image
    if configured is not None:
        return configured
    registry = scope.image.repository.rpartition("/")[0]
    tag = releases.image_tag(COMPONENT, releases.newest())
    return Image(repository=f"{registry}/{COMPONENT}" if registry else COMPONENT, tag=tag)


def _objects(scope: ServiceScope[NovaSpec]) -> Iterator[Desired]:
    compute = scope.spec.compute
    nodes = _nodes(scope)
    settings = libvirt.Libvirt(
        image(scope),
        PodSettings(node_selector=compute.node_selector, tolerations=compute.tolerations),
        scope.spec.image_pull_secrets,
        # Nova connects to libvirt by the addresses of nodes, libvirt to others by their names.
        [name for each in nodes for name in (each["metadata"]["name"], _address(each))],
    )
    yield from libvirt.objects(scope.named(COMPONENT), settings, labels=scope.labels(COMPONENT))


def _nodes(scope: ServiceScope[NovaSpec]) -> list[Object]:
    """Nodes that servers may run on and that have an address."""
    wanted = claims.selector(scope.spec).items()
    return [
        each
        for each in scope.observed.find(NODE, "every", "")
        if wanted <= (each["metadata"].get("labels") or {}).items() and _address(each)
    ]


def _cell(node: Object) -> str:
    """The cell that a node is labelled for; empty for the first."""
    return str((node["metadata"].get("labels") or {}).get(cells.LABEL, ""))


def _address(node: Object) -> str:
    listed = (node.get("status") or {}).get("addresses") or ()
    return next((each["address"] for each in listed if each["type"] == "InternalIP"), "")
