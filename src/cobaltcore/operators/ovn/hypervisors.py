"""What runs on hypervisors: Open vSwitch and ovn-controller. Pure.

They are two DaemonSets: a new OVN must not restart ovs-vswitchd, which forwards packets of servers.
"""

from collections.abc import Iterator, Sequence

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DAEMON_SET
from cobaltcore.api.pods import PodSettings, Resources
from cobaltcore.engine.desired import containers, placement, probes, workload
from cobaltcore.engine.desired.containers import Container, PodField, SecurityContext
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.volumes import ConfigMap, HostPath, Volume, host_path
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.operators.ovn import chassis, databases
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired

OVS, CONTROLLER = "openvswitch", "controller"
SOCKET = "/run/openvswitch/db.sock"
SETTINGS = "/etc/ovn-chassis"
RUN = host_path("run", "/run/openvswitch")
ETC = host_path("etc", "/etc/openvswitch")
MODULES = Volume("modules", "/lib/modules", HostPath("/lib/modules", type=""), read_only=True)
QUIET = ("-vconsole:info", "-vsyslog:off", "-vfile:off")
VSWITCHD_SIZE = Resources(requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "2Gi"})
CONTROLLER_SIZE = Resources(requests={"cpu": "20m", "memory": "32Mi"}, limits={"memory": "1Gi"})
SMALL = Resources(requests={"cpu": "10m", "memory": "24Mi"}, limits={"memory": "256Mi"})


def ovs_objects(view: View) -> Iterator[Desired]:
    """Open vSwitch of each hypervisor, and its settings."""
    remote = _remote(view)
    if not remote or view.taken:
        return
    settings = view.named("chassis")
    meta = {"name": settings.name, "namespace": settings.namespace, "labels": view.labels(OVS)}
    # Under one name, so that a change needs no restart.
    yield Desired(CONFIG_MAP, {"metadata": meta, "data": chassis.settings(view, remote)})
    yield _daemon_set(view, OVS, view.spec.ovs, list(_ovs_containers(view, settings.name)))


def _ovs_containers(view: View, settings: str) -> Iterator[Container]:
    image = view.spec.ovs_image
    privileged = SecurityContext("privileged", writable_root=True)
    yield Container(
        "ovsdb-server",
        image,
        ("cobalt-agent", "ovs", "database"),
        volumes=[RUN, ETC],
        probes=probes.by_command("ovs-appctl", "--timeout=5", "-t", "ovsdb-server", "version"),
        resources=SMALL,
        security=SecurityContext("root", writable_root=True),
    )
    yield Container(
        "ovs-vswitchd",
        image,
        ("cobalt-agent", "ovs", "vswitchd"),
        volumes=[RUN, ETC, MODULES],
        probes=probes.by_command("ovs-appctl", "--timeout=5", "-t", "ovs-vswitchd", "version"),
        resources=containers.resources(VSWITCHD_SIZE, view.spec.ovs),
        security=privileged,
    )
    yield Container(
        "settings",
        image,
        ("cobalt-agent", "ovs", "sidecar"),
        volumes=[RUN, ETC, Volume("settings", SETTINGS, ConfigMap(settings))],
        environment={"NODE_NAME": PodField("spec.nodeName")},
        probes=probes.by_command("cobalt-agent", "ready", "ovs", "sidecar"),
        resources=SMALL,
        security=privileged,
    )


def controller_objects(view: View) -> Iterator[Desired]:
    """ovn-controller of each hypervisor. On SIGTERM it leaves the flows of OVS as they are."""
    if not _remote(view) or view.taken:
        return
    is_connected = (
        '[ "$(ovn-appctl --timeout=5 -t ovn-controller connection-status)" = connected ]'
    )
    container = Container(
        "ovn-controller",
        view.spec.ovn_image,
        (
            "ovn-controller",
            "--pidfile=/run/ovn/ovn-controller.pid",
            *databases.tls_options(view),
            *QUIET,
            f"unix:{SOCKET}",
        ),
        volumes=[RUN, Volume("run-ovn", "/run/ovn"), *databases.tls_volumes(view)],
        probes=probes.by_command("sh", "-c", is_connected, startup_seconds=600),
        resources=containers.resources(CONTROLLER_SIZE, view.spec.controller),
        security=SecurityContext("root", ("NET_ADMIN",), writable_root=True),
    )
    yield _daemon_set(view, CONTROLLER, view.spec.controller, [container])


def _daemon_set(
    view: View, component: str, settings: PodSettings, daemons: Sequence[Container]
) -> Desired:
    pod = Pod(
        containers=daemons,
        labels=view.labels(component),
        placement=placement.on_hypervisors(settings),
        pull_secrets=view.spec.image_pull_secrets,
        host_network=True,
        share_process_namespace=True,
        grace_period_seconds=10,
    )
    return workload.daemon_set(view.named(component), selector=view.selector(component), pod=pod)


def ovs_ready(view: View) -> Verdict:
    """Whether Open vSwitch runs on every hypervisor and has its settings."""
    if view.taken:
        node, other = next(iter(sorted(view.taken.items())))
        return Blocked(
            "NodesTaken",
            f"node {node!r} belongs to OVNCluster {other!r}; change spec.ovs.nodeSelector",
        )
    return _rolled_out(view, OVS)


def controller_ready(view: View) -> Verdict:
    """Whether every hypervisor is registered and alive."""
    rolled_out = _rolled_out(view, CONTROLLER)
    if not isinstance(rolled_out, Ready):
        return rolled_out
    for node in view.nodes:
        if not chassis.tunnel_address(node):
            name = node["metadata"]["name"]
            return Waiting("AddressMissing", f"node {name!r} has no address of type InternalIP")
    if view.records is None:
        return Waiting(
            "SouthboundUnreachable",
            view.fault or "the southbound database has not been queried yet",
        )
    alive, wanted = _alive(view)
    missing = sorted(set(wanted) - set(alive))
    if missing:
        return Waiting(
            "ChassisMissing",
            f"{len(alive)}/{len(wanted)} hypervisors registered and alive; missing: {missing[0]!r}",
        )
    return Ready("Registered", f"{len(alive)}/{len(wanted)} hypervisors registered and alive")


def _alive(view: View) -> tuple[list[str], list[str]]:
    names = [node["metadata"]["name"] for node in view.nodes]
    answering = chassis.alive(view)
    ids = {
        name: live["spec"]["systemId"]
        for name in names
        if (live := view.chassis.get(name)) is not None
    }
    return [name for name, each in ids.items() if each in answering], names


def _rolled_out(view: View, component: str) -> Verdict:
    key = view.named(component)
    found = workload.progress_on_nodes(view.get(DAEMON_SET, key))
    if found.settled:
        return Ready("Running", f"{found.ready}/{found.wanted} hypervisors")
    text = found.describe(key.name)
    return Waiting("DaemonsStarting", f"{text}{view.pod_failure(component)}")


def _remote(view: View) -> str:
    """The address of the southbound database for hypervisors; empty if it is not known yet."""
    service = databases.SOUTHBOUND.service(view)
    address = view.service_address(service.name)
    host = f"[{address}]" if ":" in address else address
    return f"{view.protocol}:{host}:{service.port}" if address else ""
