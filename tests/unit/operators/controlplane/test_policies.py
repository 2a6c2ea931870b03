"""Who may connect to the pods of a control plane."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import NETWORK_POLICY, NODE
from cobaltcore.engine import definitions
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.desired.names import OPENSTACK_CLIENT
from tests.support import objects, planning
from tests.support.control_planes import a_control_plane, a_ready_one
from tests.support.simulation import Simulation

NODE_ADDRESS, POD_NETWORK, OUTSIDE = "192.0.2.10", "10.244.1.0/24", "198.51.100.7"
POD_ADDRESS = "10.244.1.9"
KEYSTONE, MARIADB, RABBITMQ, MEMCACHED, OVN, NOVA = (
    "keystone",
    "mariadb",
    "rabbitmq",
    "memcached",
    "ovn",
    "nova",
)


def a_plane(**spec: Any) -> Simulation:
    """A ControlPlane on a cluster with one node."""
    plane = a_control_plane(**spec)
    status = {"addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}]}
    body = {"metadata": {"name": "n1"}, "spec": {"podCIDRs": [POD_NETWORK]}, "status": status}
    plane.add(NODE, body)
    return plane


def policies(plane: Simulation) -> dict[str, Mapping[str, Any]]:
    """Specs by the part that they protect."""
    found = [each for each in plane.plan().objects if each.kind == NETWORK_POLICY]
    return {each.key.name.partition("-")[2]: each.body["spec"] for each in found}


def admits(
    plane: Simulation,
    part: str,
    port: int,
    *,
    pod: Mapping[str, str] | None = None,
    namespace: str = "",
    address: str = POD_ADDRESS,
) -> bool:
    """Whether a connection is admitted: of a pod of the same or another namespace, or an address."""
    for rule in policies(plane)[part]["ingress"]:
        ports = [each["port"] for each in rule.get("ports", ())]
        if ports and port not in ports:
            continue
        if any(_matches(peer, pod or {}, namespace, address) for peer in rule["from"]):
            return True
    return False


def _matches(
    peer: Mapping[str, Any], pod: Mapping[str, str], namespace: str, address: str
) -> bool:
    if block := peer.get("ipBlock"):
        own = ip_address(address)
        excepted = any(own in ip_network(each) for each in block.get("except", ()))
        return own in ip_network(block["cidr"]) and not excepted
    if selector := peer.get("namespaceSelector"):
        return namespace in selector["matchExpressions"][0]["values"]
    wanted = peer["podSelector"]["matchLabels"]
    return not namespace and wanted.items() <= pod.items()


def of(service: str) -> dict[str, str]:
    """Labels of a pod of a service."""
    return {"app.kubernetes.io/name": service, "app.kubernetes.io/instance": service}


@pytest.mark.parametrize(
    ("caller", "part", "port"),
    [
        ("nova", MARIADB, 3306),
        ("placement", MARIADB, 3306),
        ("cinder", RABBITMQ, 5672),
        ("nova", RABBITMQ, 5671),
        ("keystone", MEMCACHED, 11211),
        ("neutron", OVN, 6641),
        ("neutron", OVN, 6642),
        ("glance", KEYSTONE, 5000),
        ("nova", "placement", 8778),
        ("cinder", "glance", 9292),
        ("neutron", NOVA, 8774),
    ],
)
def test_declared_call_is_admitted(caller: str, part: str, port: int) -> None:
    assert admits(a_plane(), part, port, pod=of(caller))


@pytest.mark.parametrize(
    ("caller", "part", "port"),
    [
        ("glance", RABBITMQ, 5672),
        ("placement", MEMCACHED, 11211),
        ("nova", MARIADB, 4567),
        ("cinder", RABBITMQ, 15672),
        ("nova", OVN, 6642),
        ("glance", NOVA, 8774),
        ("cinder", NOVA, 8775),
    ],
)
def test_call_that_no_part_declares_is_refused(caller: str, part: str, port: int) -> None:
    assert not admits(a_plane(), part, port, pod=of(caller))


def test_pods_of_others_reach_nothing() -> None:
    plane = a_plane()
    ports = (3306, 5671, 5672, 6641, 6642, 11211, 5000, 6080, 8774, 8775, 8776, 8778, 9292, 9696)
    for part in policies(plane):
        for port in ports:
            assert not admits(plane, part, port, pod={"app": "theirs"}), (part, port)
            assert not admits(plane, part, port, namespace="theirs"), (part, port)


def test_clients_from_outside_reach_apis_and_consoles_only() -> None:
    plane = a_plane()
    for part, port in ((KEYSTONE, 5000), (NOVA, 8774), (NOVA, 6080), ("cinder", 8776)):
        assert admits(plane, part, port, address=OUTSIDE), (part, port)
    for part, port in ((NOVA, 8775), (MARIADB, 3306), (RABBITMQ, 5672), (OVN, 6642)):
        assert not admits(plane, part, port, address=OUTSIDE), (part, port)


def test_programs_on_nodes_reach_what_agents_need() -> None:
    plane = a_plane()
    for part, port in ((RABBITMQ, 5672), (NOVA, 8775), (OVN, 6642), (KEYSTONE, 5000)):
        assert admits(plane, part, port, address=NODE_ADDRESS), (part, port)
    for part, port in ((MARIADB, 3306), (OVN, 6641), (MEMCACHED, 11211)):
        assert not admits(plane, part, port, address=NODE_ADDRESS), (part, port)


def test_operators_reach_servers_and_apis() -> None:
    plane = a_plane()
    for part, port in ((MARIADB, 3306), (RABBITMQ, 15672), (OVN, 6641), (KEYSTONE, 5000)):
        assert admits(plane, part, port, namespace="c5c3-system"), (part, port)
    assert not admits(plane, NOVA, 8775, namespace="c5c3-system")


def test_clients_in_pods_are_admitted_when_they_are_named() -> None:
    plane = a_plane(global__networkPolicy__clientNamespaces=["gateways"])
    assert admits(plane, KEYSTONE, 5000, namespace="gateways")
    assert not admits(plane, MARIADB, 3306, namespace="gateways")
    assert admits(plane, KEYSTONE, 5000, pod=OPENSTACK_CLIENT)
    assert not admits(plane, KEYSTONE, 5000, pod=OPENSTACK_CLIENT, namespace="theirs")


def test_further_addresses_of_nodes_count_as_nodes() -> None:
    plane = a_plane(global__networkPolicy__nodeNetworks=["10.244.1.1/32"])
    assert admits(plane, RABBITMQ, 5672, address="10.244.1.1")


def test_no_rule_admits_everybody() -> None:
    """A rule without peers would: here no node has an address."""
    for spec in policies(a_control_plane()).values():
        assert all(rule["from"] for rule in spec["ingress"])


def test_everything_with_pods_is_protected() -> None:
    plane = a_ready_one(services__barbican__enabled=True, infrastructure__valkey={})
    services = {each.name for each in definitions.services() if each.part}
    assert set(policies(plane)) == services | {MARIADB, RABBITMQ, MEMCACHED, OVN, "valkey"}


def test_part_that_is_off_is_neither_protected_nor_admitted() -> None:
    plane = a_plane(services__cinder__enabled=False)
    assert "cinder" not in policies(plane)
    assert not admits(plane, MARIADB, 3306, pod=of("cinder"))


def test_policies_are_removed_when_they_are_switched_off() -> None:
    plane = a_ready_one()
    assert policies(plane)
    plane.live = objects.changed(plane.live, {"spec.global.networkPolicy.enabled": False})
    assert not policies(plane)
    assert not {kind for kind, _ in plane.plan().keep} & {NETWORK_POLICY}


@pytest.mark.parametrize("service", definitions.services(), ids=lambda each: each.name)
def test_every_port_that_pods_of_a_service_listen_on_is_declared(service: AnyService) -> None:
    if service.part is None:
        return
    scope = planning.scope(planning.an_object(service.kind.kind))
    listening = {
        each.port or service.port
        for each in scope.workloads
        if each.agent is None and (each.port or each.module)
    }
    assert listening == {service.port, *_ports(service.part.listeners)}


def _ports(listeners: Iterable[Any]) -> list[int]:
    return [each.port for each in listeners]
