"""NetworkPolicies of a control plane, enforced: foreign pods reach nothing, declared calls work."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import workloads
from tests.support.cloud import NAMESPACE, Cloud
from tests.support.lab import Lab, eventually

FOREIGN = "policy-probes"
OPERATORS = "c5c3-system"
CLIENT = {"c5c3.io/openstack-client": "true"}
OF_AGENTS = {8775}
"""Ports that only programs on nodes reach."""
PROBE = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def reaches(target):
    try:
        socket.create_connection(target, timeout=3).close()
    except OSError:
        return None
    return target

with ThreadPoolExecutor(32) as pool:
    print(json.dumps([each for each in pool.map(reaches, json.loads(sys.argv[1])) if each]))
"""

Target = tuple[str, int]


@dataclass(frozen=True)
class Pod:
    """A pod that connects to others."""

    lab: Lab
    namespace: str
    name: str

    def reached(self, targets: Iterator[Target] | set[Target]) -> set[Target]:
        """Which of the targets it can connect to."""
        command = ("exec", "-i", "-n", self.namespace, self.name, "--", "python3", "-")
        output = self.lab.kubectl(*command, json.dumps(sorted(targets)), input=PROBE)
        return {(address, port) for address, port in json.loads(output)}


@pytest.fixture(scope="session")
def probes(lab: Lab) -> Iterator[Mapping[str, Pod]]:
    """Pods next to the control plane, elsewhere, and where operators are."""
    client = lab.get("deployment", "openstack-client", "-n", NAMESPACE)
    image = client["spec"]["template"]["spec"]["containers"][0]["image"]
    places = {
        "next to it": (NAMESPACE, {}),
        "client": (NAMESPACE, CLIENT),
        "elsewhere": (FOREIGN, {}),
        "elsewhere as client": (FOREIGN, CLIENT),
        "operator": (OPERATORS, {}),
    }
    lab.attempt("create", "namespace", FOREIGN)
    found = {}
    for place, (namespace, labels) in places.items():
        name = f"probe-{place.replace(' ', '-')}"
        pod = workloads.pod(name, image)
        pod["metadata"]["labels"] |= labels
        lab.create(namespace, pod)
        found[place] = Pod(lab, namespace, name)
    for each in found.values():
        lab.wait_for_pod(each.namespace, each.name)
    yield found
    for each in found.values():
        lab.kubectl("delete", "pod", "-n", each.namespace, each.name, "--wait=false")
    lab.kubectl("delete", "namespace", FOREIGN, "--wait=false")


@pytest.fixture(scope="session")
def targets(lab: Lab) -> Mapping[str, set[Target]]:
    """Addresses and ports of everything that a policy protects, by part."""
    pods = lab.get("pods", "-n", NAMESPACE)["items"]
    found: dict[str, set[Target]] = {}
    for policy in lab.get("networkpolicies", "-n", NAMESPACE)["items"]:
        ports = {p["port"] for rule in policy["spec"]["ingress"] for p in rule.get("ports", ())}
        wanted = policy["spec"]["podSelector"]["matchLabels"]
        part = policy["metadata"]["labels"]["app.kubernetes.io/component"]
        found[part] = {
            (pod["status"]["podIP"], port)
            for pod in pods
            if wanted.items() <= pod["metadata"]["labels"].items()
            and not pod["spec"].get("hostNetwork")
            and pod["status"]["phase"] == "Running"
            for port in sorted(ports)
        }
    return found


def everything(targets: Mapping[str, set[Target]]) -> set[Target]:
    return set().union(*targets.values())


def listening(probes: Mapping[str, Pod], targets: Mapping[str, set[Target]]) -> set[Target]:
    """Targets that answer where it is allowed: from pods of operators."""
    return probes["operator"].reached(everything(targets))


def test_operators_reach_all_servers_and_apis(
    probes: Mapping[str, Pod], targets: Mapping[str, set[Target]]
) -> None:
    found = listening(probes, targets)
    for part in (
        "mariadb",
        "rabbitmq",
        "memcached",
        "ovn",
        "keystone",
        "glance",
        "nova",
        "neutron",
    ):
        assert found & targets[part], f"nothing of {part} answers"
    assert not {port for _, port in found} & OF_AGENTS


@pytest.mark.parametrize("place", ["next to it", "elsewhere", "elsewhere as client"])
def test_foreign_pod_reaches_nothing(
    place: str, probes: Mapping[str, Pod], targets: Mapping[str, set[Target]]
) -> None:
    eventually(lambda: not probes[place].reached(everything(targets)), f"{place}: refused")


def test_pod_with_the_label_of_clients_reaches_apis_only(
    probes: Mapping[str, Pod], targets: Mapping[str, set[Target]]
) -> None:
    found = probes["client"].reached(everything(targets))
    assert {port for _, port in found} == {5000, 6080, 8774, 8776, 8778, 9292, 9696}


def test_pods_of_others_are_not_concerned(lab: Lab, probes: Mapping[str, Pod]) -> None:
    server = "import http.server as s; s.HTTPServer(('', 8080), s.BaseHTTPRequestHandler).serve_forever()"
    image = lab.get("pod", "-n", NAMESPACE, probes["client"].name)["spec"]["containers"][0][
        "image"
    ]
    lab.create(NAMESPACE, workloads.pod("policy-server", image, command=["python3", "-c", server]))
    lab.wait_for_pod(NAMESPACE, "policy-server")
    address = lab.get("pod", "policy-server", "-n", NAMESPACE)["status"]["podIP"]
    target = {(address, 8080)}
    for place in ("next to it", "elsewhere"):
        eventually(lambda at=place: probes[at].reached(target) == target, f"{place}: admitted")  # type: ignore[misc]
    lab.kubectl("delete", "pod", "-n", NAMESPACE, "policy-server", "--wait=false")


def test_calls_of_the_graph_work(cloud: Cloud) -> None:
    """APIs, broker, databases, agents on nodes: a server is created, gets metadata, is deleted."""
    image = cloud.get("image", "list")[0]["ID"]
    flavor = cloud.get("flavor", "list", "--all")[0]["ID"]
    name = "policy-server"
    cloud.run(
        *("server", "create", name, "--image", image, "--flavor", flavor),
        *("--network", "demo", "--wait"),
    )
    try:
        cloud.wait_for_console(name, "metadata i-")
    finally:
        cloud.remove("server", name)
    plane: Any = cloud.lab.get("controlplane", "lab", "-n", NAMESPACE)
    ready = {each["type"]: each["status"] for each in plane["status"]["conditions"]}
    assert ready["Ready"] == "True"
