"""OVN with real ovsdb-servers and Open vSwitch: Raft, tunnels between nodes, recovery."""

import sys
from collections.abc import Iterator

import pytest

from cobaltlab import subnets
from tests.support import lab_ovn
from tests.support.lab import Lab, eventually, kill
from tests.support.lab_ovn import NODES, Network

NB = "OVN_Northbound"


@pytest.fixture
def network(lab: Lab, namespace: str) -> Iterator[Network]:
    yield Network(lab, namespace)
    lab.kubectl("delete", "ovncluster", "-n", namespace, "--all")
    eventually(lambda: not lab.get("pods", "-n", namespace)["items"], "all pods are deleted")


def test_traffic_between_nodes_survives_restarts_of_daemons(
    lab: Lab, network: Network, images: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    status = network.wait()
    assert [c["type"] for c in status["conditions"]] == [
        "Ready", "NorthboundReady", "SouthboundReady", "ControllersReady",
    ]  # fmt: skip
    assert (status["chassisCount"], status["activeControllers"]) == (2, 2)
    for number, node in enumerate(NODES, 1):
        network.attach_guest(node, number)
    eventually(
        lambda: network.ping(NODES[0], 1, "10.9.0.2", count=3) == 0, "guests reach each other"
    )
    lost = {"nothing": network.ping(NODES[0], 1, "10.9.0.2", count=100)}
    assert lost["nothing"] == 0
    assert "tnl_push" in network.switch(NODES[0], "ovs-appctl", "dpctl/dump-flows")

    for program in ("ovn-controller", "ovs-vswitchd"):
        wait = network.start_ping(NODES[0], 1, "10.9.0.2", count=150)
        pid = lab.daemon(NODES[0], program)
        kill(pid)
        lost[program] = wait()
        eventually(
            lambda: network.ping(NODES[0], 1, "10.9.0.2", count=5) == 0,
            "guests reach each other again",
        )
        assert lab.daemon(NODES[0], program) != pid
    network.wait()
    with capsys.disabled():
        sys.stdout.write(f"\nlost pings after kill -9 of …: {lost}\n")
    assert lost["ovn-controller"] == 0


def test_a_guest_is_reachable_from_the_external_network(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    instance = lab.state_dir.read_record()
    assert instance is not None
    prefix = str(subnets.Subnets(instance.index).external.network_address).rpartition(".")[0]
    network.attach_guest(NODES[1], 7, switch="public", prefix=prefix)
    network.add_localnet_port("public", "public")
    with lab_ovn.external_host(lab, f"{prefix}.254/24") as lost:
        eventually(lambda: lost(f"{prefix}.7", 3) == 0, "the guest answers")
        assert lost(f"{prefix}.7", 50) == 0


def test_a_database_scales_to_three_servers_and_keeps_its_data(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    network.northbound("ls-add", "persistent")
    lab.create(network.namespace, lab_ovn.a_network(images, replicas=3))
    network.wait()
    before = network.leader("northbound", NB, 3)
    node = lab.get("pod", "-n", network.namespace, before)["spec"]["nodeName"]
    kill(lab_ovn.host_process(lab, node, "ovsdb-server", before))
    eventually(
        lambda: network.cluster_status(before, NB).count("ovn-northbound-") >= 3,
        "the killed server is a member again",
    )
    network.leader("northbound", NB, 3)
    network.wait()
    assert "persistent" in network.northbound("ls-list")
    for number in range(3):
        network.northbound("ls-add", f"after-{number}")

    lab.kubectl("delete", "ovncluster", "-n", network.namespace, "ovn")
    eventually(
        lambda: not lab.get("pods", "-n", network.namespace)["items"], "all pods are deleted"
    )
    assert len(lab.get("pvc", "-n", network.namespace)["items"]) == 6
    lab.create(network.namespace, lab_ovn.a_network(images, replicas=3))
    network.wait()
    assert "persistent" in network.northbound("ls-list")


def test_tls_connections(lab: Lab, network: Network, images: dict[str, str]) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images, tls={"enabled": True}))
    status = network.wait()
    host = f"{network.namespace}.svc.cluster.local"
    assert status["endpoints"] == {
        "northbound": f"ssl:ovn-nb.{host}:6641",
        "southbound": f"ssl:ovn-sb.{host}:6642",
    }
    assert status["activeControllers"] == 2
    remote = network.switch(NODES[0], "ovs-vsctl", "get", "open", ".", "external_ids:ovn-remote")
    assert remote.startswith('"ssl:')


def test_a_node_that_loses_the_hypervisor_role_is_drained(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    role = "node-role.kubernetes.io/hypervisor"
    lab.kubectl("label", "node", NODES[1], f"{role}-")
    try:
        eventually(
            lambda: not lab.get("ovnchassis", "-n", network.namespace, NODES[1]),
            "the OVNChassis is deleted",
        )
        eventually(lambda: network.wait()["chassisCount"] == 1, "the chassis is deleted from OVN")
    finally:
        lab.kubectl("label", "node", NODES[1], f"{role}=")
    eventually(lambda: network.wait()["chassisCount"] == 2, "the chassis is registered again")
