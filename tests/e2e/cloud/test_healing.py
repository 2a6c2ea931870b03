"""Any killed process of a cloud is restarted, and the server keeps running."""

from dataclasses import dataclass

import pytest

from tests.support.cloud import DEMO, Cloud
from tests.support.healing import found, guest, is_whole
from tests.support.lab import Lab, eventually, kill

ANYWHERE = ""
HYPERVISOR = "hypervisor"


@dataclass(frozen=True)
class Target:
    """A process to kill: its node and a pattern of its command line."""

    name: str
    pattern: str
    node: str = ANYWHERE


SERVICES = (
    Target("keystone", r"uwsgi.*keystone"),
    Target("glance", r"uwsgi.*glance"),
    Target("placement", r"uwsgi.*placement"),
    Target("nova-api", r"uwsgi.*nova.*api"),
    Target("nova-metadata", r"uwsgi.*nova.*metadata"),
    Target("nova-scheduler", r"nova-scheduler"),
    Target("nova-conductor", r"nova-conductor"),
    Target("neutron-api", r"uwsgi.*neutron"),
    Target("neutron-maintenance", r"neutron-ovn-maintenance-worker"),
    Target("neutron-periodic", r"neutron-periodic-workers"),
    Target("cinder-api", r"uwsgi.*cinder"),
    Target("cinder-scheduler", r"cinder-scheduler"),
    Target("cinder-volume", r"cinder-volume"),
)
BACKING = (
    Target("mariadb", r"(^|/)mariadbd( |$)"),
    Target("rabbitmq", r"beam\.smp"),
    Target("memcached", r"(^|/)memcached( |$)"),
    Target("ovn-northbound", r"ovsdb-server.*pssl:6641"),
    Target("ovn-southbound", r"ovsdb-server.*pssl:6642"),
    Target("ovn-northd", r"(^|/)ovn-northd( |$)"),
    Target("ceph-mon", r"(^|/)ceph-mon( |$)"),
    Target("ceph-mgr", r"(^|/)ceph-mgr( |$)"),
    Target("ceph-osd", r"(^|/)ceph-osd( |$)"),
)
NODE = (
    Target("ovn-controller", r"(^|/)ovn-controller( |$)", HYPERVISOR),
    Target("vswitchd", r"(^|/)ovs-vswitchd( |$)", HYPERVISOR),
    Target("libvirtd", r"(^|/)libvirtd( |$)", HYPERVISOR),
    Target("nova-compute", r"nova-compute", HYPERVISOR),
    Target("metadata-agent", r"neutron-ovn-metadata-agent", HYPERVISOR),
    Target("kubelet", r"(^|/)kubelet( |$)", HYPERVISOR),
)
OPERATORS = (
    Target("operators", r"cobalt.* run( |$)"),
    Target("providers", r"cobalt.* providers( |$)"),
)


@pytest.mark.parametrize(
    "target", [*SERVICES, *BACKING, *NODE, *OPERATORS], ids=lambda each: each.name
)
def test_a_killed_process_is_restarted_and_the_server_keeps_running(
    lab: Lab, cloud: Cloud, target: Target
) -> None:
    here = cloud.host(DEMO)
    running = guest(lab, here)
    assert running
    node = here if target.node == HYPERVISOR else ANYWHERE
    killed = found(lab, node, target.pattern)
    assert killed, f"no process matches {target.pattern}"
    for pid in killed:
        kill(pid)
    eventually(lambda: found(lab, node, target.pattern) - killed, f"{target.name} is restarted")
    eventually(lambda: is_whole(lab), f"everything is Ready after {target.name} was killed")
    assert guest(lab, here) == running
    with cloud.external_host() as external:
        floating = cloud.floating()
        eventually(lambda: external.pings(floating), "the server answers")


def test_a_restarted_metadata_agent_serves_new_servers(lab: Lab, cloud: Cloud) -> None:
    here = cloud.host(DEMO)
    killed = found(lab, here, "neutron-ovn-metadata-agent")
    for pid in killed:
        kill(pid)
    eventually(
        lambda: found(lab, here, "neutron-ovn-metadata-agent") - killed, "the agent is restarted"
    )
    try:
        cloud.run(
            "--os-compute-api-version", "2.74", "server", "create", "--flavor", DEMO,
            "--image", DEMO, "--network", DEMO, "--host", here, "--wait", "metadata-client",
        )  # fmt: skip
        assert cloud.wait_for_console("metadata-client", "guest: metadata")
    finally:
        cloud.remove("server", "metadata-client")


def test_up_restores_the_same_cloud_after_all_processes_were_killed(
    lab: Lab, cloud: Cloud
) -> None:
    cloud.run("volume", "create", "--size", "1", "kept")
    cloud.wait_for_status("volume", "kept", "available")
    server = cloud.get("server", "show", DEMO)["id"]
    volume = cloud.get("volume", "show", "kept")["id"]
    floating = cloud.floating()
    lab.kill_everything()
    lab.up(until="demo")
    assert cloud.get("server", "show", DEMO)["id"] == server
    assert cloud.get("volume", "show", "kept")["id"] == volume
    assert cloud.floating() == floating
    with cloud.external_host() as external:
        eventually(lambda: external.pings(floating), "the server answers")
    cloud.remove("volume", "kept")
