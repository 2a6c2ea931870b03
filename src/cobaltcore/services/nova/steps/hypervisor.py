"""libvirt on the hypervisor nodes, and that Nova knows them. Pure."""

from collections.abc import Iterator

from cobaltcore.api.blocks import Image, IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import DAEMON_SET, NODE
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine import releases, running, tasks
from cobaltcore.engine.definition import Facts, Result, Task
from cobaltcore.engine.desired import libvirt, names, workload
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Desired, Object

COMPONENT = "libvirt"
CONFIG_DIR = "/etc/nova"
DISCOVERY = "discover_hosts.py"


def libvirt_runs(facts: Facts) -> Result:
    """Run libvirt on every hypervisor; migrations are encrypted as the API is."""
    objects = list(_objects(facts))
    key = facts.named(COMPONENT)
    found = workload.progress_on_nodes(facts.observed.get(DAEMON_SET, key))
    if not found.settled:
        why = running.trouble_of(facts, COMPONENT)
        text = f"{found.ready}/{found.wanted} pods of {key.name!r} ready{why}"
        return Result(Waiting("DeploymentProgressing", text), objects)
    return Result(Ready("DeploymentAvailable", f"{found.ready} nodes"), objects)


def hosts_known(facts: Facts) -> Result:
    """Have the hypervisors mapped to their cells; a node that comes later is another run."""
    hosts = sorted(each["metadata"]["name"] for each in _nodes(facts))
    if not hosts:
        return Result(Ready("NoHosts", "no hypervisor nodes"))
    task = Task("hosts", ("python", f"{CONFIG_DIR}/{DISCOVERY}", *hosts))
    ran = tasks.run_once(facts, task, running="WaitingForHosts")
    if not isinstance(ran.verdict, Ready):
        return ran
    return Result(Ready("HostsKnown", f"{len(hosts)} hosts"), ran.objects, ran.remove)


def issuer(facts: Facts) -> IssuerRef | None:
    """Who signs the certificate for migrations; None: they are not encrypted."""
    tls = facts.service.base(facts.spec).tls
    return tls.issuer_ref if tls is not None and tls.enabled else None


def image(facts: Facts) -> Image:
    """Given, or that of the newest release from where Nova's image comes."""
    given: Image | None = facts.spec.compute.libvirt_image
    if given is not None:
        return given
    registry = facts.service.image(facts.spec).repository.rpartition("/")[0]
    tag = releases.image_tag(COMPONENT, max(releases.IMAGE_TAGS))
    return Image(repository=f"{registry}/{COMPONENT}" if registry else COMPONENT, tag=tag)


def _objects(facts: Facts) -> Iterator[Desired]:
    compute = facts.spec.compute
    nodes = _nodes(facts)
    given = libvirt.Libvirt(
        image(facts),
        PodSettings(node_selector=compute.node_selector, tolerations=compute.tolerations),
        facts.service.base(facts.spec).image_pull_secrets,
        issuer(facts),
        [each["metadata"]["name"] for each in nodes],
    )
    for each in libvirt.objects(facts.named(COMPONENT), given, labels=facts.labels(COMPONENT)):
        if each.kind != CERTIFICATE:
            yield each
        elif nodes:
            # Nova tells libvirt the addresses of nodes, not their names.
            spec = {**each.body["spec"], "ipAddresses": sorted(map(_address, nodes))}
            yield each._replace(body={**each.body, "spec": spec})


def _nodes(facts: Facts) -> list[Object]:
    """Nodes that servers may run on and that have an address."""
    wanted = (facts.spec.compute.node_selector or names.HYPERVISORS).items()
    return [
        each
        for each in facts.observed.find(NODE, "every", "")
        if wanted <= (each["metadata"].get("labels") or {}).items() and _address(each)
    ]


def _address(node: Object) -> str:
    listed = (node.get("status") or {}).get("addresses") or ()
    return next((each["address"] for each in listed if each["type"] == "InternalIP"), "")
