"""Kill any process of a cloud: it comes back by itself, and the server keeps running."""

from dataclasses import dataclass

import pytest

from tests.support.cloud import DEMO, Cloud
from tests.support.healing import found, guest, is_whole
from tests.support.lab import Lab, eventually, kill

ANYWHERE = ""
HYPERVISOR = "hypervisor"


@dataclass(frozen=True)
class Victim:
    """A process to kill: where it runs, and what its command line looks like."""

    name: str
    pattern: str
    node: str = ANYWHERE


SERVICES = (
    Victim("keystone", r"uwsgi.*keystone"),
    Victim("glance", r"uwsgi.*glance"),
    Victim("placement", r"uwsgi.*placement"),
    Victim("nova-api", r"uwsgi.*nova.*api"),
    Victim("nova-metadata", r"uwsgi.*nova.*metadata"),
    Victim("nova-scheduler", r"nova-scheduler"),
    Victim("nova-conductor", r"nova-conductor"),
    Victim("neutron-api", r"uwsgi.*neutron"),
    Victim("neutron-maintenance", r"neutron-ovn-maintenance-worker"),
    Victim("neutron-periodic", r"neutron-periodic-workers"),
    Victim("cinder-api", r"uwsgi.*cinder"),
    Victim("cinder-scheduler", r"cinder-scheduler"),
    Victim("cinder-volume", r"cinder-volume"),
)
BACKING = (
    Victim("mariadb", r"(^|/)mariadbd( |$)"),
    Victim("rabbitmq", r"beam\.smp"),
    Victim("memcached", r"(^|/)memcached( |$)"),
    Victim("ovn-northbound", r"ovsdb-server.*pssl:6641"),
    Victim("ovn-southbound", r"ovsdb-server.*pssl:6642"),
    Victim("ovn-northd", r"(^|/)ovn-northd( |$)"),
    Victim("ceph-mon", r"(^|/)ceph-mon( |$)"),
    Victim("ceph-mgr", r"(^|/)ceph-mgr( |$)"),
    Victim("ceph-osd", r"(^|/)ceph-osd( |$)"),
)
NODE = (
    Victim("ovn-controller", r"(^|/)ovn-controller( |$)", HYPERVISOR),
    Victim("vswitchd", r"(^|/)ovs-vswitchd( |$)", HYPERVISOR),
    Victim("libvirtd", r"(^|/)libvirtd( |$)", HYPERVISOR),
    Victim("nova-compute", r"nova-compute", HYPERVISOR),
    Victim("metadata-agent", r"neutron-ovn-metadata-agent", HYPERVISOR),
    Victim("kubelet", r"(^|/)kubelet( |$)", HYPERVISOR),
)
OPERATORS = (
    Victim("operators", r"cobalt.* run( |$)"),
    Victim("providers", r"cobalt.* providers( |$)"),
)


@pytest.mark.parametrize(
    "victim", [*SERVICES, *BACKING, *NODE, *OPERATORS], ids=lambda each: each.name
)
def test_a_killed_process_comes_back_and_the_server_keeps_running(
    lab: Lab, cloud: Cloud, victim: Victim
) -> None:
    here = cloud.host(DEMO)
    running = guest(lab, here)
    assert running
    node = here if victim.node == HYPERVISOR else ANYWHERE
    killed = found(lab, node, victim.pattern)
    assert killed, f"no process looks like {victim.pattern}"
    for pid in killed:
        kill(pid)
    eventually(lambda: found(lab, node, victim.pattern) - killed, f"{victim.name} runs again")
    eventually(lambda: is_whole(lab), f"all is Ready after {victim.name} was killed")
    assert guest(lab, here) == running
    with cloud.outside() as outside:
        floating = cloud.floating()
        eventually(lambda: outside.pings(floating), "the server answers")


def test_a_server_gets_metadata_from_an_agent_that_was_killed(lab: Lab, cloud: Cloud) -> None:
    here = cloud.host(DEMO)
    victims = found(lab, here, "neutron-ovn-metadata-agent")
    for pid in victims:
        kill(pid)
    eventually(lambda: found(lab, here, "neutron-ovn-metadata-agent") - victims, "it runs again")
    try:
        cloud.run(
            "--os-compute-api-version", "2.74", "server", "create", "--flavor", DEMO,
            "--image", DEMO, "--network", DEMO, "--host", here, "--wait", "asking",
        )  # fmt: skip
        assert cloud.says("asking", "guest: metadata")
    finally:
        cloud.remove("server", "asking")


def test_after_everything_was_killed_up_brings_the_same_cloud_back(lab: Lab, cloud: Cloud) -> None:
    cloud.run("volume", "create", "--size", "1", "kept")
    cloud.becomes("volume", "kept", "available")
    server = cloud.get("server", "show", DEMO)["id"]
    volume = cloud.get("volume", "show", "kept")["id"]
    floating = cloud.floating()
    lab.kill_everything()
    lab.up(until="demo")
    assert cloud.get("server", "show", DEMO)["id"] == server
    assert cloud.get("volume", "show", "kept")["id"] == volume
    assert cloud.floating() == floating
    with cloud.outside() as outside:
        eventually(lambda: outside.pings(floating), "the server answers")
    cloud.remove("volume", "kept")
