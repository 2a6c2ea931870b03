"""What runs on hypervisors: Open vSwitch and ovn-controller. Pure.

They are two DaemonSets: a new OVN must not restart the switch, through which packets of servers go.
"""

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DAEMON_SET
from cobaltcore.engine.desired import configmap, hostpods, pods, workload
from cobaltcore.engine.desired.hostpods import Container, HostPath, Scratch
from cobaltcore.engine.desired.pods import Mount
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.operators.ovn import chassis, databases
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired

SWITCH, CONTROLLER = "openvswitch", "controller"
SOCKET = "/run/openvswitch/db.sock"
PROGRAMS, SETTINGS = "/etc/ovn-programs", "/etc/ovn-chassis"
KEPT = "/tmp/settings-kept"  # noqa: S108 a file in the container
RUN = HostPath("run", "/run/openvswitch")
ETC = HostPath("etc", "/etc/openvswitch")
MODULES = HostPath("modules", "/lib/modules", type="", read_only=True)
QUIET = ("-vconsole:info", "-vsyslog:off", "-vfile:off")
SWITCH_SIZE: Mapping[str, Any] = {
    "requests": {"cpu": "50m", "memory": "64Mi"},
    "limits": {"memory": "2Gi"},
}
CONTROLLER_SIZE: Mapping[str, Any] = {
    "requests": {"cpu": "20m", "memory": "32Mi"},
    "limits": {"memory": "1Gi"},
}
SMALL: Mapping[str, Any] = {
    "requests": {"cpu": "10m", "memory": "24Mi"},
    "limits": {"memory": "256Mi"},
}


def switch_objects(view: View) -> Iterator[Desired]:
    """The switch of each hypervisor, and what it is told."""
    remote = _remote(view)
    if not remote or view.taken:
        return
    labels = view.labels(SWITCH)
    programs = configmap.config_map(view.named(f"{SWITCH}-programs"), _programs(), labels)
    yield programs
    key = view.named(SWITCH)
    told = view.named("chassis")
    meta = {"name": told.name, "namespace": told.namespace, "labels": labels}
    # Under one name, so that switches take up a change without being restarted.
    yield Desired(CONFIG_MAP, {"metadata": meta, "data": chassis.settings(view, remote)})
    image = view.spec.ovs_image
    files = [
        Mount("programs", PROGRAMS, config_map=programs.key.name),
        Mount("settings", SETTINGS, config_map=told.name),
    ]
    database = Container(
        "ovsdb-server",
        image,
        ("python3", f"{PROGRAMS}/start_switch.py", "ovsdb-server"),
        volumes=[RUN, ETC, *files],
        capabilities=(),
        probes=hostpods.asked(["ovs-appctl", "--timeout=5", "-t", "ovsdb-server", "version"]),
        resources=SMALL,
    )
    switch = Container(
        "ovs-vswitchd",
        image,
        ("python3", f"{PROGRAMS}/start_switch.py", "ovs-vswitchd"),
        volumes=[RUN, ETC, MODULES, *files],
        probes=hostpods.asked(["ovs-appctl", "--timeout=5", "-t", "ovs-vswitchd", "version"]),
        resources=pods.resources(SWITCH_SIZE, view.spec.ovs),
    )
    keeper = Container(
        "settings",
        image,
        ("python3", f"{PROGRAMS}/keep_settings.py"),
        volumes=[RUN, ETC, *files],
        node_environment={"NODE_NAME": "spec.nodeName"},
        probes=hostpods.asked(["test", "-e", KEPT]),
        resources=SMALL,
    )
    template = hostpods.template(
        [database, switch, keeper],
        labels=labels,
        annotations={},
        settings={
            **hostpods.placement(view.spec.ovs, view.spec.image_pull_secrets),
            "shareProcessNamespace": True,
            "terminationGracePeriodSeconds": 10,
        },
    )
    yield workload.daemon_set(
        key, selector=view.selector(SWITCH), labels=labels, template=template
    )


def controller_objects(view: View) -> Iterator[Desired]:
    """ovn-controller of each hypervisor. Ended by a signal, it leaves the switch as it is."""
    if not _remote(view) or view.taken:
        return
    labels = view.labels(CONTROLLER)
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
        volumes=[RUN, Scratch("run-ovn", "/run/ovn"), *databases.tls_mounts(view)],
        capabilities=("NET_ADMIN",),
        probes=hostpods.asked(
            [
                "sh",
                "-c",
                '[ "$(ovn-appctl --timeout=5 -t ovn-controller connection-status)" = connected ]',
            ],
            startup_seconds=600,
        ),
        resources=pods.resources(CONTROLLER_SIZE, view.spec.controller),
    )
    template = hostpods.template(
        [container],
        labels=labels,
        annotations={},
        settings={
            **hostpods.placement(view.spec.controller, view.spec.image_pull_secrets),
            "shareProcessNamespace": True,
            "terminationGracePeriodSeconds": 10,
        },
    )
    yield workload.daemon_set(
        view.named(CONTROLLER),
        selector=view.selector(CONTROLLER),
        labels=labels,
        template=template,
    )


def switch_ready(view: View) -> Verdict:
    """Whether every hypervisor's switch runs and has its settings."""
    if view.taken:
        node, other = next(iter(sorted(view.taken.items())))
        return Blocked(
            "NodesTaken",
            f"node {node!r} belongs to OVNCluster {other}: choose another ovs.nodeSelector",
        )
    return _rolled_out(view, SWITCH)


def controller_ready(view: View) -> Verdict:
    """Whether every hypervisor is registered and answers."""
    rolled_out = _rolled_out(view, CONTROLLER)
    if not isinstance(rolled_out, Ready):
        return rolled_out
    for node in view.nodes:
        if not chassis.tunnel_address(node):
            name = node["metadata"]["name"]
            return Waiting("AddressMissing", f"node {name!r} has no InternalIP")
    if view.records is None:
        return Waiting("SouthboundSilent", view.problem or "the southbound database is not asked")
    alive, wanted = _alive(view)
    missing = sorted(set(wanted) - set(alive))
    if missing:
        return Waiting(
            "ChassisMissing",
            f"{len(alive)}/{len(wanted)} hypervisors answer, {missing[0]!r} does not",
        )
    return Ready("Registered", f"{len(alive)}/{len(wanted)} hypervisors answer")


def _alive(view: View) -> tuple[list[str], list[str]]:
    names = [node["metadata"]["name"] for node in view.nodes]
    records = view.records or {}
    ids = {
        name: live["spec"]["systemId"]
        for name in names
        if (live := view.chassis.get(name)) is not None
    }
    alive = [n for n, each in ids.items() if chassis.is_alive(records.get(each), view.now)]
    return alive, names


def _rolled_out(view: View, component: str) -> Verdict:
    key = view.named(component)
    number, wanted, settled = workload.progress_on_nodes(view.get(DAEMON_SET, key))
    if settled:
        return Ready("Running", f"{number}/{wanted} hypervisors")
    return Waiting(
        "DaemonsStarting", f"{number}/{wanted} pods of {key.name!r} ready{view.trouble(component)}"
    )


def _remote(view: View) -> str:
    """Where hypervisors reach the southbound database; empty if that is not known yet."""
    service = databases.SOUTHBOUND.service(view)
    address = view.service_address(service.name)
    host = f"[{address}]" if ":" in address else address
    return f"{view.protocol}:{host}:{service.port}" if address else ""


def _programs() -> dict[str, str]:
    folder = resources.files("cobaltcore.operators.ovn.inside")
    wanted = ("keep_settings.py", "start_switch.py")
    return {name: folder.joinpath(name).read_text() for name in wanted}
