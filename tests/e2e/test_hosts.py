"""Other host configurations, simulated in a network namespace."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cobaltlab import statedir
from tests.support import workloads
from tests.support.lab import Lab, eventually


class Host:
    """A network namespace that simulates the host."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "1000000"])
        own = Path("/proc/self/ns/net").stat().st_ino
        path = Path(f"/proc/{self._holder.pid}/ns/net")
        eventually(lambda: path.stat().st_ino != own, "the network namespace exists")
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *command: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *command]

    def run(self, *command: str, **environment: str) -> str:
        done = subprocess.run(
            self.command(*command),
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()


@pytest.fixture
def host() -> Iterator[Host]:
    found = Host()
    yield found
    found.close()


def test_a_port_in_use_is_named_with_its_process(
    host: Host, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Fails before anything is changed."""
    lab = Lab(tmp_path_factory.mktemp("ports"))
    environment = {**os.environ, statedir.ROOT_VARIABLE: str(lab.root)}
    script = "import socket; s = socket.create_server(('', 5000)); print(); input()"
    with subprocess.Popen(
        host.command(sys.executable, "-uc", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as listener:
        assert listener.stdout
        assert listener.stdout.readline()
        refused = subprocess.run(
            host.command(*lab.command("up", "--nodes", "1", "--until", "cluster")),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        listener.communicate(b"\n")
    assert refused.returncode == 1
    assert "port 5000 is in use" in refused.stderr
    assert f"(pid {listener.pid})" in refused.stderr
    assert "stop that program" in refused.stderr
    assert not lab.state_dir.directory.exists()


def test_nodes_reach_each_other_with_forward_policy_drop(
    lab: Lab, host: Host, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Docker sets this policy; no rule of the lab is left after `cobalt down`.

    Labs in other network namespaces are unaffected, in both directions.
    """
    other, nodes = lab, {node.name: node.pid() for node in lab.state_dir.node_processes()}
    host.run("iptables", "-P", "FORWARD", "DROP")
    before = host.run("iptables", "-S")
    lab = Lab(tmp_path_factory.mktemp("docker"))
    environment = {statedir.ROOT_VARIABLE: str(lab.root)}

    def cobalt(*arguments: str) -> str:
        return host.run(*lab.command(*arguments), **environment)

    try:
        cobalt("up", "--until", "cluster", "--nodes", "2")
        lab.load_image()
        server = workloads.web_server("web", lab.image, node="hypervisor-1")
        client = workloads.pod("client", lab.image, node="control-plane")
        (lab.root / "pods.yaml").write_text(workloads.text(server, client))
        cobalt("kubectl", "apply", "-f", str(lab.root / "pods.yaml"))
        cobalt(
            "kubectl", "wait", "--for=condition=Ready", "--timeout=180s", "pod/web", "pod/client"
        )
        address = cobalt("kubectl", "get", "pod", "web", "-o", "jsonpath={.status.podIP}")
        script = f"printf 'GET /index.html HTTP/1.0\\r\\n\\r\\n' | nc -w 10 {address} 8080"
        answer = cobalt("kubectl", "exec", "client", "--", "sh", "-c", script)
        assert answer.endswith("hypervisor-1\n")
    finally:
        cobalt("down", "--purge")
    assert host.run("iptables", "-S") == before
    assert {node.name: node.pid() for node in other.state_dir.node_processes()} == nodes
