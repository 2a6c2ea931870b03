"""OVN in a test's lab: an OVNCluster, with network namespaces as guests."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobaltlab import network, process
from tests.support import pinger
from tests.support.lab import Lab, eventually, run

NODES = ("hypervisor-1", "hypervisor-2")
IMAGES = ("ovs", "ovn")


@contextmanager
def operators_on_host(lab: Lab) -> Iterator[None]:
    """Run the OVN operator and the certificate provider on the host."""
    crds = run(_cobalt("crds"), lab.environment)
    lab.kubectl("apply", "--server-side", "-f", "-", input=crds)
    children = [_child(lab, "run", "ovn"), _child(lab, "providers", "certmanager")]
    for child in children:
        child.start()
    try:
        yield
    finally:
        for child in children:
            child.stop()


def a_network(images: dict[str, str], *, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ovn.c5c3.io/v1alpha1",
        "kind": "OVNCluster",
        "metadata": {"name": "ovn"},
        "spec": {
            **{f"{name}Image": _image(images[name]) for name in IMAGES},
            "northbound": {"replicas": replicas, "storage": {"size": "1Gi"}},
            "southbound": {"replicas": replicas, "storage": {"size": "1Gi"}},
            "northd": {"replicas": 1},
            "controller": {"bridgeMappings": [{"physicalNetwork": "public", "bridge": "br-ex"}]},
            **spec,
        },
    }


def _image(reference: str) -> dict[str, str]:
    repository, _, digest = reference.partition("@")
    return {"repository": repository, "digest": digest}


@dataclass(frozen=True)
class Network:
    """An OVNCluster and operations of tests on it."""

    lab: Lab
    namespace: str

    def wait(self) -> dict[str, Any]:
        """Wait until the current generation is Ready; return its status."""

        def ready_status() -> dict[str, Any]:
            found = self.lab.get("ovncluster", "-n", self.namespace, "ovn")
            status: dict[str, Any] = found.get("status", {})
            ready = [c["status"] for c in status.get("conditions", ()) if c["type"] == "Ready"]
            current = status.get("observedGeneration") == found.get("metadata", {}).get(
                "generation"
            )
            return status if ready == ["True"] and current else {}

        return eventually(ready_status, "the OVNCluster is Ready", seconds=600)

    def pod(self, component: str, node: str) -> str:
        return self.lab.kubectl(
            "get", "pods", "-n", self.namespace, "-o", "name",
            f"--selector=app.kubernetes.io/component={component}",
            f"--field-selector=spec.nodeName={node},status.phase=Running",
        ).split()[0]  # fmt: skip

    def northbound(self, *command: str) -> str:
        """Run ovn-nbctl."""
        return self._in("ovn-northbound-0", "ovn-nbctl", "--db=unix:/tmp/ovsdb.sock",
                        "--no-leader-only", "--timeout=60", *command)  # fmt: skip

    def cluster_status(self, pod: str, database: str) -> str:
        """`cluster/status` of a Raft member; empty while it is not running."""
        return self.lab.attempt(
            "exec", "-n", self.namespace, pod, "--",
            "ovs-appctl", "-t", "/tmp/ovsdb.ctl", "cluster/status", database,
        )  # fmt: skip

    def leader(self, component: str, database: str, servers: int) -> str:
        """The pod of the Raft leader."""
        pods = [f"ovn-{component}-{number}" for number in range(servers)]
        return eventually(
            lambda: next(
                (p for p in pods if "Role: leader" in self.cluster_status(p, database)), ""
            ),
            f"{component} has a leader",
        )

    def switch(self, node: str, *command: str) -> str:
        """Run a command next to Open vSwitch on a node."""
        return self._in(self.pod("openvswitch", node), *command, container="settings")

    def attach_guest(
        self, node: str, number: int, *, switch: str = "net", prefix: str = "10.9.0"
    ) -> None:
        """Attach a network namespace to a logical switch, like a server."""
        name, mac = f"g{number}", f"02:00:00:00:00:{number:02x}"
        self.northbound("--may-exist", "ls-add", switch)
        self.northbound(
            "--may-exist", "lsp-add", switch, f"port{number}", "--",
            "lsp-set-addresses", f"port{number}", f"{mac} {prefix}.{number}",
        )  # fmt: skip
        script = f"""
            ip netns add {name}
            ip link add {name} type veth peer name eth0 netns {name}
            ip link set {name} up
            ip -n {name} link set eth0 address {mac}
            ip -n {name} addr add {prefix}.{number}/24 dev eth0
            ip -n {name} link set eth0 up mtu 1400
            ip netns exec {name} ethtool -K eth0 tx off
            ovs-vsctl --may-exist add-port br-int {name} \
                -- set interface {name} external-ids:iface-id=port{number}
        """
        self.switch(node, "sh", "-ec", script)

    def add_localnet_port(self, switch: str, physical_network: str) -> None:
        """Connect a logical switch to a physical network."""
        port = f"{switch}-{physical_network}"
        self.northbound(
            "--may-exist", "lsp-add", switch, port,
            "--", "lsp-set-type", port, "localnet",
            "--", "lsp-set-addresses", port, "unknown",
            "--", "lsp-set-options", port, f"network_name={physical_network}",
        )  # fmt: skip

    def ping(self, node: str, guest: int, address: str, *, count: int = 20) -> int:
        """Send `count` pings from a guest, ten per second; return the number of lost ones."""
        sent, lost = self._pinging(node, guest, address, count)().split()
        assert int(sent) == count
        return int(lost)

    def start_ping(self, node: str, guest: int, address: str, *, count: int) -> Callable[[], int]:
        """Start to ping; the result waits for the end and returns the number of lost pings."""
        wait = self._pinging(node, guest, address, count)
        return lambda: int(wait().split()[1])

    def _pinging(self, node: str, guest: int, address: str, count: int) -> Callable[[], str]:
        command = [
            str(self.lab.state_dir.programs / "kubectl"), f"--kubeconfig={self.lab.state_dir.kubeconfig}",
            "exec", "-i", "-n", self.namespace, self.pod("openvswitch", node), "-c", "settings",
            "--", "ip", "netns", "exec", f"g{guest}", "python3", "-", address, str(count), "0.1",
        ]  # fmt: skip
        with Path(pinger.__file__).open() as program:
            child = subprocess.Popen(command, stdin=program, stdout=subprocess.PIPE, text=True)

        def wait() -> str:
            output, _ = child.communicate()
            assert child.returncode == 0
            return output

        return wait

    def _in(self, pod: str, *command: str, container: str = "") -> str:
        where = ["-c", container] if container else []
        return self.lab.kubectl("exec", "-n", self.namespace, pod, *where, "--", *command)


@contextmanager
def external_host(lab: Lab, address: str) -> Iterator[Callable[[str, int], int]]:
    """A network namespace on the physical network; yields a function that counts lost pings."""
    instance = lab.state_dir.read_record()
    assert instance is not None
    name, veth = f"{lab.name}-ext", f"co-{lab.name[-6:]}"
    for command in (
        f"ip netns add {name}",
        f"ip link add {veth} type veth peer name eth0 netns {name}",
        f"ip link set {veth} master {network.external_bridge(instance.index)} up",
        f"ip -n {name} addr add {address} dev eth0",
        f"ip -n {name} link set eth0 up",
        f"ip netns exec {name} ethtool -K eth0 tx off",
    ):
        subprocess.run(command.split(), check=True, capture_output=True)

    def lost(target: str, count: int) -> int:
        words = ["ip", "netns", "exec", name, sys.executable, pinger.__file__]
        output = run([*words, target, str(count), "0.1"], lab.environment)
        return int(output.split()[1])

    try:
        yield lost
    finally:
        subprocess.run(["ip", "link", "del", veth], check=True)
        subprocess.run(["ip", "netns", "del", name], check=True)


def host_process(lab: Lab, node: str, program: str, pod: str) -> int:
    """The PID of a pod's program in the host's PID namespace."""

    def found() -> int:
        for pid, line in lab.processes(node).items():
            if line.split()[0].endswith(program) and f"HOSTNAME={pod}\0" in _environment(pid):
                return pid
        return 0

    return eventually(found, f"{program} of {pod} is running on {node}")


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return ""


def _child(lab: Lab, *arguments: str) -> process.Child:
    name = "-".join(arguments)
    command = _cobalt(*arguments, f"--kubeconfig={lab.state_dir.kubeconfig}", "--health-port=0")
    return process.Child(name, command, lab.root / f"{name}.log", lab.environment)


def _cobalt(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cobaltcore.cli.main", *arguments]
