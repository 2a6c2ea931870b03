"""Operators and providers deployed by `cobalt up`: idempotent, restarted, in pods and on the host."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.lab import CommandFailed, Lab, eventually

NAMESPACE = "c5c3-system"
PROCESSES = ("cobalt-operators", "cobalt-providers")
CHASSIS = """
apiVersion: ovn.c5c3.io/v1alpha1
kind: OVNChassis
metadata:
  name: hypervisor-1
  ownerReferences: [{apiVersion: v1, kind: Node, name: hypervisor-1}]
spec:
  hostname: hypervisor-1
  systemId: 3a41
  encapsulation: {type: geneve, ip: 10.0.1.100}
"""


def components(lab: Lab) -> dict[str, dict[str, Any]]:
    found = next(each for each in lab.status()["labs"] if each["name"] == lab.name)
    return {each["name"]: each for each in found["components"]}


def generations(lab: Lab) -> list[int]:
    found = lab.get("deployments", "-n", NAMESPACE)["items"]
    return [each["metadata"]["generation"] for each in found]


def pods(lab: Lab, process: str) -> list[dict[str, Any]]:
    selector = f"c5c3.io/platform={process}"
    found: list[dict[str, Any]] = lab.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
    return found


def forbidden(lab: Lab, process: str) -> list[str]:
    lines = lab.kubectl("logs", "-n", NAMESPACE, f"deploy/{process}").splitlines()
    return [line for line in lines if "orbidden" in line]


def admitted(lab: Lab, namespace: str) -> str:
    """The UID that the operators' webhook sets."""
    try:
        lab.kubectl("apply", "-n", namespace, "-f", "-", input=CHASSIS)
    except CommandFailed:
        return ""
    found = lab.get("ovnchassis", "-n", namespace, "hypervisor-1")
    return str(found["metadata"]["ownerReferences"][0]["uid"])


@pytest.fixture
def on_the_host(lab: Lab) -> Iterator[None]:
    lab.up("--dev", until="operators")
    yield
    lab.up("--no-dev", until="operators")


def test_both_run_in_pods_and_are_in_the_status(lab: Lab) -> None:
    assert {name: each["runs"] for name, each in components(lab).items()} == dict.fromkeys(
        PROCESSES, "in a pod"
    )
    assert all(each["ready"] for each in components(lab).values())


def test_rbac_allows_every_request(lab: Lab) -> None:
    for process in PROCESSES:
        assert forbidden(lab, process) == []


def test_no_account_is_cluster_admin(lab: Lab) -> None:
    for process in PROCESSES:
        account = f"--as=system:serviceaccount:{NAMESPACE}:{process}"
        with pytest.raises(CommandFailed, match="no"):
            lab.kubectl("auth", "can-i", "create", "clusterrolebindings", account)


def test_a_second_up_changes_nothing(lab: Lab) -> None:
    before = generations(lab)
    lab.up(until="operators")
    assert generations(lab) == before


def test_webhooks_are_called_with_their_own_certificate(lab: Lab, namespace: str) -> None:
    node = lab.get("node", "hypervisor-1")["metadata"]["uid"]
    assert eventually(lambda: admitted(lab, namespace), "the webhook answers") == node


@pytest.mark.parametrize("process", PROCESSES)
def test_a_killed_process_is_restarted(lab: Lab, process: str) -> None:
    verb = "run" if process == "cobalt-operators" else "providers"
    old = next(pid for pid, line in lab.processes().items() if f"cobalt {verb} " in line)
    os.kill(old, signal.SIGKILL)

    def restarted() -> bool:
        statuses = [s for pod in pods(lab, process) for s in pod["status"]["containerStatuses"]]
        return any(each["restartCount"] and each["ready"] for each in statuses)

    eventually(restarted, f"{process} is restarted")
    eventually(lambda: components(lab)[process]["ready"], f"{process} is ready again")


@pytest.mark.usefixtures("on_the_host")
def test_both_run_from_the_source_tree_on_the_host(lab: Lab, namespace: str) -> None:
    assert {each["runs"] for each in components(lab).values()} == {"on the host"}
    assert not lab.get("pods", "-n", NAMESPACE)["items"]
    node = lab.get("node", "hypervisor-1")["metadata"]["uid"]
    assert eventually(lambda: admitted(lab, namespace), "the webhook answers") == node
    for process in PROCESSES:
        _is_restarted(lab, process)
    before = {name: each["reason"] for name, each in components(lab).items()}
    lab.up(until="operators")
    assert {name: each["reason"] for name, each in components(lab).items()} == before


def _is_restarted(lab: Lab, process: str) -> None:
    reason = components(lab)[process]["reason"]
    os.kill(int(reason.removeprefix("PID ")), signal.SIGKILL)

    def is_back() -> bool:
        found = components(lab)[process]
        return bool(found["ready"] and found["reason"] != reason)

    eventually(is_back, f"{process} is restarted")
