"""OVN with real servers and switches: Raft, tunnels between nodes, what heals by itself."""

import sys
from collections.abc import Iterator

import pytest

from cobaltcore.lab import ranges
from tests.support import lab_ovn
from tests.support.lab import Lab, eventually, kill
from tests.support.lab_ovn import NODES, Network

NB = "OVN_Northbound"


@pytest.fixture
def network(lab: Lab, namespace: str) -> Iterator[Network]:
    yield Network(lab, namespace)
    lab.kubectl("delete", "ovncluster", "-n", namespace, "--all")
    eventually(lambda: not lab.get("pods", "-n", namespace)["items"], "all pods are gone")


def test_packets_between_nodes_and_what_heals(
    lab: Lab, network: Network, images: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    status = network.wait()
    assert [c["type"] for c in status["conditions"]] == [
        "Ready", "NorthboundReady", "SouthboundReady", "ControllersReady",
    ]  # fmt: skip
    assert (status["chassisCount"], status["activeControllers"]) == (2, 2)
    for number, node in enumerate(NODES, 1):
        network.plug_in_guest(node, number)
    eventually(lambda: network.ping(NODES[0], 1, "10.9.0.2", count=3) == 0, "guests meet")
    lost = {"nothing": network.ping(NODES[0], 1, "10.9.0.2", count=100)}
    assert lost["nothing"] == 0
    assert "tnl_push" in network.switch(NODES[0], "ovs-appctl", "dpctl/dump-flows")

    for program in ("ovn-controller", "ovs-vswitchd"):
        ended = network.ping_meanwhile(NODES[0], 1, "10.9.0.2", count=150)
        pid = lab.daemon(NODES[0], program)
        kill(pid)
        lost[program] = ended()
        eventually(
            lambda: network.ping(NODES[0], 1, "10.9.0.2", count=5) == 0, "guests meet again"
        )
        assert lab.daemon(NODES[0], program) != pid
    network.wait()
    with capsys.disabled():
        sys.stdout.write(f"\nlost pings after kill -9 of …: {lost}\n")
    assert lost["ovn-controller"] == 0


def test_the_outside_world_reaches_a_guest(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    instance = lab.place.instance()
    assert instance is not None
    prefix = str(ranges.Ranges(instance.index).outside.network_address).rpartition(".")[0]
    network.plug_in_guest(NODES[1], 7, switch="public", prefix=prefix)
    network.open_to_outside("public", "public")
    with lab_ovn.outside_world(lab, f"{prefix}.254/24") as lost:
        eventually(lambda: lost(f"{prefix}.7", 3) == 0, "the guest answers")
        assert lost(f"{prefix}.7", 50) == 0


def test_a_database_grows_survives_its_leader_and_keeps_its_data(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    network.northbound("ls-add", "kept")
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
    assert "kept" in network.northbound("ls-list")
    for number in range(3):
        network.northbound("ls-add", f"after-{number}")

    lab.kubectl("delete", "ovncluster", "-n", network.namespace, "ovn")
    eventually(lambda: not lab.get("pods", "-n", network.namespace)["items"], "all pods are gone")
    assert len(lab.get("pvc", "-n", network.namespace)["items"]) == 6
    lab.create(network.namespace, lab_ovn.a_network(images, replicas=3))
    network.wait()
    assert "kept" in network.northbound("ls-list")


def test_encrypted_connections(lab: Lab, network: Network, images: dict[str, str]) -> None:
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


def test_a_node_that_is_no_hypervisor_any_more_is_drained(
    lab: Lab, network: Network, images: dict[str, str]
) -> None:
    lab.create(network.namespace, lab_ovn.a_network(images))
    network.wait()
    role = "node-role.kubernetes.io/hypervisor"
    lab.kubectl("label", "node", NODES[1], f"{role}-")
    try:
        eventually(
            lambda: not lab.get("ovnchassis", "-n", network.namespace, NODES[1]),
            "the object of the node is gone",
        )
        eventually(lambda: network.wait()["chassisCount"] == 1, "OVN has forgotten it")
    finally:
        lab.kubectl("label", "node", NODES[1], f"{role}=")
    eventually(lambda: network.wait()["chassisCount"] == 2, "it is back")
