"""Basic functions of the cluster: nodes, logs, exec, port-forward, DNS, Services."""

import http.client
import re
import subprocess
from functools import partial

import pytest

from cobaltlab import subnets
from tests.support import workloads
from tests.support.lab import Lab, eventually

NODES = ("control-plane", "hypervisor-1", "hypervisor-2")


def test_nodes_are_ready_and_have_role_labels(lab: Lab) -> None:
    assert lab.ready_nodes() == set(NODES)
    nodes = lab.get("nodes", "-l", "node-role.kubernetes.io/hypervisor")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["hypervisor-1", "hypervisor-2"]


def test_cobalt_kubectl_uses_the_kubeconfig_of_the_lab(lab: Lab) -> None:
    answer = lab.cobalt("kubectl", "--request-timeout=60s", "get", "nodes", "-o", "name")
    assert answer.splitlines() == [f"node/{name}" for name in NODES]


def test_status_reports_a_running_lab(lab: Lab) -> None:
    found = next(each for each in lab.status()["labs"] if each["name"] == lab.name)
    assert found["state"] == "running"
    assert found["reason"] == "3/3 nodes Ready"


@pytest.mark.parametrize("node", NODES)
def test_logs_and_exec_work_on_every_node(lab: Lab, namespace: str, node: str) -> None:
    script = "echo started on $(hostname) && exec sleep 1000000"
    pod = workloads.pod("speaker", lab.image, node=node, command=["sh", "-c", script])
    lab.create(namespace, pod)
    lab.wait_for_pod(namespace, "speaker")
    assert lab.kubectl("logs", "-n", namespace, "speaker") == "started on speaker\n"
    answer = lab.kubectl("exec", "-n", namespace, "speaker", "--", "cat", "/etc/hostname")
    assert answer == "speaker\n"


def test_port_forward_reaches_a_pod(lab: Lab, namespace: str) -> None:
    lab.create(namespace, workloads.web_server("web", lab.image, node="hypervisor-2"))
    lab.wait_for_pod(namespace, "web")
    command = lab.command("kubectl", "port-forward", "-n", namespace, "pod/web", ":8080")
    with subprocess.Popen(
        command, env=lab.environment, stdout=subprocess.PIPE, text=True
    ) as forward:
        assert forward.stdout
        try:
            found = re.search(r"127\.0\.0\.1:(\d+)", forward.stdout.readline())
            assert found
            assert _fetch("127.0.0.1", int(found[1])) == "hypervisor-2\n"
        finally:
            forward.terminate()


def test_services_are_reachable_across_nodes(lab: Lab, namespace: str) -> None:
    """Every node reaches every server, from pods and from the host network."""
    servers = [workloads.web_server(f"web-{node}", lab.image, node=node) for node in NODES]
    services = [
        workloads.service(f"web-{node}", port=80, target=8080, selector={"app": f"web-{node}"})
        for node in NODES
    ]
    clients = [workloads.pod(f"client-{node}", lab.image, node=node) for node in NODES]
    hosts = [
        workloads.pod(f"host-{node}", lab.image, node=node, hostNetwork=True) for node in NODES
    ]
    lab.create(namespace, *servers, *services, *clients, *hosts)
    for pod in [*servers, *clients, *hosts]:
        lab.wait_for_pod(namespace, pod["metadata"]["name"])
    addresses = {
        node: lab.get("service", "-n", namespace, f"web-{node}")["spec"]["clusterIP"]
        for node in NODES
    }
    for client in [*clients, *hosts]:
        for node, address in addresses.items():
            _eventually_serves(lab, namespace, client["metadata"]["name"], address, node)


def test_names_resolve_in_pods(lab: Lab, namespace: str) -> None:
    pod = workloads.pod("asker", lab.image, node="hypervisor-1")
    host = workloads.pod(
        "host-asker",
        lab.image,
        node="hypervisor-2",
        hostNetwork=True,
        dnsPolicy="ClusterFirstWithHostNet",
    )
    lab.create(namespace, pod, host)
    kubernetes = lab.get("service", "kubernetes")["spec"]["clusterIP"]
    for name in ("asker", "host-asker"):
        lab.wait_for_pod(namespace, name)
        answer = lab.kubectl(
            "exec", "-n", namespace, name, "--", "nslookup", "kubernetes.default.svc.cluster.local"
        )
        assert kubernetes in answer


def test_a_node_port_is_reachable_from_the_host(lab: Lab, namespace: str) -> None:
    service = workloads.service(
        "web", port=80, target=8080, selector={"app": "web"}, type="NodePort"
    )
    lab.create(namespace, workloads.web_server("web", lab.image, node="hypervisor-1"), service)
    lab.wait_for_pod(namespace, "web")
    port = lab.get("service", "-n", namespace, "web")["spec"]["ports"][0]["nodePort"]
    plan = subnets.Subnets(lab.state_dir.require_record().index)
    for number in range(3):
        address = str(plan.node(number))
        eventually(partial(_answers, address, port), f"{address}:{port} answers")


def test_pods_and_services_are_reachable_from_the_host(lab: Lab, namespace: str) -> None:
    service = workloads.service("web", port=80, target=8080, selector={"app": "web"})
    lab.create(namespace, workloads.web_server("web", lab.image, node="hypervisor-2"), service)
    lab.wait_for_pod(namespace, "web")
    pod = lab.get("pod", "-n", namespace, "web")["status"]["podIP"]
    cluster = lab.get("service", "-n", namespace, "web")["spec"]["clusterIP"]
    assert _fetch(pod, 8080) == "hypervisor-2\n"
    eventually(lambda: _answers(cluster, 80), "the Service answers")


def test_a_host_port_is_served_by_the_node(lab: Lab, namespace: str) -> None:
    pod = workloads.web_server("web", lab.image, node="hypervisor-1")
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 18080}]
    lab.create(namespace, pod)
    lab.wait_for_pod(namespace, "web")
    plan = subnets.Subnets(lab.state_dir.require_record().index)
    eventually(lambda: _answers(str(plan.node(1)), 18080), "the host port answers")


def test_a_pod_host_path_is_private_to_its_node(lab: Lab, namespace: str) -> None:
    source = {"hostPath": {"path": "/var/lib/example", "type": "DirectoryOrCreate"}}
    mount = {"name": "files", "path": "/files", "source": source}
    pods = [
        workloads.pod(f"pod-{node}", lab.image, node=node, mounts=[mount]) for node in NODES[1:]
    ]
    lab.create(namespace, *pods)
    for node in NODES[1:]:
        lab.wait_for_pod(namespace, f"pod-{node}")
    lab.kubectl("exec", "-n", namespace, "pod-hypervisor-1", "--", "touch", "/files/mine")
    seen = lab.kubectl("exec", "-n", namespace, "pod-hypervisor-2", "--", "ls", "/files")
    assert seen == ""


def _eventually_serves(lab: Lab, namespace: str, client: str, address: str, node: str) -> None:
    script = f"printf 'GET /index.html HTTP/1.0\\r\\n\\r\\n' | nc -w 5 {address} 80"
    eventually(
        lambda: lab.kubectl("exec", "-n", namespace, client, "--", "sh", "-c", script).endswith(
            f"{node}\n"
        ),
        f"{client} reaches {node}",
    )


def _answers(host: str, port: int) -> bool:
    try:
        return bool(_fetch(host, port))
    except OSError:
        return False


def _fetch(host: str, port: int) -> str:
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/index.html")
        return connection.getresponse().read().decode()
    finally:
        connection.close()
