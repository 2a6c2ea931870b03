"""Nodes that exist only in the API, and pods that seem to run on them: kube-scheduler and KWOK.

    with ControlPlaneHarness(controller_manager=True) as plane, SimulatedNodes(plane, count=2):
        plane.kubectl("create", "deployment", ...)      # becomes available

Pods of Jobs complete at once, all others become ready and stay so.
"""

import subprocess
from types import TracebackType
from typing import Any, Self

from cobaltlab import kubebuild, pki, process
from tests.support.control_plane import ControlPlaneHarness

KWOK = "kwok"
SCHEDULER = "system:kube-scheduler"
_NODES = "/api/v1/nodes"


class SimulatedNodes:
    """Starts the scheduler and KWOK for a control plane, and creates ready nodes."""

    def __init__(self, plane: ControlPlaneHarness, *, count: int = 1) -> None:
        self.names = [f"simulated-{number}" for number in range(count)]
        self._plane = plane
        self._programs = kubebuild.ensure(kubebuild.KWOK).parent
        self._children = [self._scheduler(), self._kwok()]

    def __enter__(self) -> Self:
        for child in self._children:
            child.start()
        for name in self.names:
            self._plane.request("POST", _NODES, _node(name))
        self._children[-1].wait_until(
            self._are_ready, within=process.STOP_GRACE * 6, what="making nodes ready"
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for child in self._children:
            child.kill()
        for name in self.names:
            self._plane.request("DELETE", f"{_NODES}/{name}")

    def _scheduler(self) -> process.Child:
        kubeconfig = self._plane.kubeconfig(SCHEDULER)
        options = {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "secure-port": 0,
        }
        return self._child(str(self._plane.programs / "kube-scheduler"), options)

    def _kwok(self) -> process.Child:
        stages = self._plane.directory / "kwok-stages.yaml"
        stages.write_bytes(subprocess.check_output([self._programs / "kwok-stages"]))
        options = {
            "kubeconfig": self._plane.kubeconfig(KWOK, groups=(pki.ADMINISTRATORS,)),
            "config": stages,
            "manage-all-nodes": "true",
            "node-lease-duration-seconds": 40,
        }
        return self._child(str(self._programs / "kwok"), options)

    def _child(self, program: str, options: dict[str, Any]) -> process.Child:
        arguments = [f"--{name}={value}" for name, value in options.items()]
        name = program.rpartition("/")[2]
        return process.Child(name, [program, *arguments], self._plane.directory / f"{name}.log")

    def _are_ready(self) -> bool:
        nodes = self._plane.request("GET", _NODES)["items"]
        return {each["metadata"]["name"] for each in nodes if _is_ready(each)} >= set(self.names)


def _node(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": KWOK}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _is_ready(node: dict[str, Any]) -> bool:
    """Ready, and no longer kept free of pods by the controller manager."""
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("taints")
