"""Killed daemons and nodes are restarted, with their pods."""

import os
import signal

import pytest

from tests.support import workloads
from tests.support.lab import Lab, eventually, kill

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
EVERY_NODE = ("containerd", "kubelet", "kube-proxy")


@pytest.mark.parametrize("program", [*CONTROL_PLANE, *EVERY_NODE])
def test_a_killed_daemon_is_restarted(lab: Lab, namespace: str, program: str) -> None:
    node = "control-plane" if program in CONTROL_PLANE else "hypervisor-1"
    lab.create(namespace, workloads.pod("before", lab.image, node=node))
    lab.wait_for_pod(namespace, "before")
    old = lab.daemon(node, program)
    kill(old)
    eventually(lambda: lab.daemon(node, program) != old, f"{program} is restarted")
    _works(lab, namespace, node)
    statuses = lab.get("pod", "-n", namespace, "before")["status"]["containerStatuses"]
    assert [each["restartCount"] for each in statuses] == [0]


@pytest.mark.parametrize("node", ["hypervisor-2", "control-plane"])
def test_a_killed_node_is_restarted_with_its_pods(lab: Lab, namespace: str, node: str) -> None:
    pod = workloads.pod("before", lab.image, node=node)
    lab.create(namespace, pod)
    lab.wait_for_pod(namespace, "before")
    old = lab.node(node).pid()
    assert old
    os.kill(old, signal.SIGKILL)
    eventually(lambda: lab.node(node).pid() not in {None, old}, f"{node} is restarted")

    def restarted() -> bool:
        found = lab.get("pod", "-n", namespace, "before")
        statuses = found.get("status", {}).get("containerStatuses", [])
        return any(each["restartCount"] and each["ready"] for each in statuses)

    eventually(restarted, f"the pod on {node} is restarted")
    _works(lab, namespace, node)


def test_a_killed_provisioner_is_restarted(lab: Lab, namespace: str) -> None:
    old = _storage(lab)
    kill(old)
    eventually(lambda: _storage(lab) not in {0, old}, "the provisioner is restarted")
    pod = workloads.pod("user", lab.image, mounts=[workloads.claimed("data", "/data")])
    lab.create(namespace, workloads.claim("data"), pod)
    lab.wait_for_pod(namespace, "user")


def test_nodes_survive_a_killed_supervisor_and_are_adopted_by_the_next(lab: Lab) -> None:
    before = {node.name: node.pid() for node in lab.state_dir.node_processes()}
    old = lab.supervisor()
    os.kill(old, signal.SIGKILL)
    found = next(each for each in lab.status()["labs"] if each["name"] == lab.name)
    assert found["state"] == "degraded"
    assert "cobalt up" in found["reason"]
    lab.up()
    assert lab.supervisor() != old
    assert {node.name: node.pid() for node in lab.state_dir.node_processes()} == before
    # The new one looks after nodes that it did not start.
    adopted = before["hypervisor-1"]
    assert adopted
    os.kill(adopted, signal.SIGKILL)
    eventually(
        lambda: lab.node("hypervisor-1").pid() not in {None, adopted}, "the node is restarted"
    )
    eventually(lambda: len(lab.ready_nodes()) == 3, "all nodes are Ready")


def _works(lab: Lab, namespace: str, node: str) -> None:
    """A new pod on the node becomes Ready and its Service answers there."""
    server = workloads.web_server("after", lab.image, node=node)
    service = workloads.service("after", port=80, target=8080, selector={"app": "after"})
    eventually(lambda: lab.ready_nodes() and _created(lab, namespace, server, service), "created")
    lab.wait_for_pod(namespace, "after")
    address = lab.get("service", "-n", namespace, "after")["spec"]["clusterIP"]
    script = f"printf 'GET /index.html HTTP/1.0\\r\\n\\r\\n' | nc -w 5 {address} 80"
    eventually(
        lambda: lab.attempt("exec", "-n", namespace, "after", "--", "sh", "-c", script).endswith(
            f"{node}\n"
        ),
        f"the Service answers on {node}",
    )


def _created(lab: Lab, namespace: str, *objects: workloads.Object) -> bool:
    return bool(lab.attempt("apply", "-n", namespace, "-f", "-", input=workloads.text(*objects)))


def _storage(lab: Lab) -> int:
    found = (pid for pid, line in lab.processes().items() if "cobaltlab.storage" in line)
    return next(found, 0)
