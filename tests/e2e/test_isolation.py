"""Isolation: no traffic leaves the machine, nodes have private files."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cobaltlab import network, subnets
from tests.support import workloads
from tests.support.lab import Lab, eventually

TABLE = f"cobalt_test_leaks_{os.getpid()}"
OUTSIDE = "198.51.100.200"
DEAD_END = f"ct{os.getpid()}"


@pytest.fixture
def leaks(lab: Lab) -> Iterator["Leaks"]:
    """Counts packets from or to the lab on interfaces other than its bridges."""
    found = Leaks(lab)
    found.start()
    yield found
    found.stop()


class Leaks:
    def __init__(self, lab: Lab) -> None:
        index = lab.state_dir.require_record().index
        self._block = subnets.Subnets(index).block
        self._bridge = network.bridge(index)

    def start(self) -> None:
        rules = "\n".join(
            [
                f"add table inet {TABLE}",
                f"add chain inet {TABLE} out {{ type filter hook postrouting priority 300 ; }}",
                *(
                    f'add rule inet {TABLE} out oifname != {{ "{self._bridge}", "lo" }} '
                    f"ip {end} {self._block} counter"
                    for end in ("saddr", "daddr")
                ),
            ]
        )
        subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)

    def packets(self) -> int:
        command = ["nft", "-j", "list", "table", "inet", TABLE]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        expressions = [
            expression
            for entry in json.loads(answer)["nftables"]
            for expression in entry.get("rule", {}).get("expr", [])
        ]
        return sum(each["counter"]["packets"] for each in expressions if "counter" in each)

    def stop(self) -> None:
        subprocess.run(["nft", "delete", "table", "inet", TABLE], check=True)


def test_no_traffic_uses_the_default_route(lab: Lab, namespace: str, leaks: Leaks) -> None:
    """Tries pods, nodes, an image pull and an unused address of the lab."""
    pods = [
        workloads.pod("inside", lab.image, node="hypervisor-1"),
        workloads.pod("node", lab.image, node="hypervisor-2", hostNetwork=True),
    ]
    pull = workloads.pod("pull", f"{OUTSIDE}/nothing:1")
    pull["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    lab.create(namespace, *pods, pull)
    for name in ("inside", "node"):
        lab.wait_for_pod(namespace, name)
        lab.attempt("exec", "-n", namespace, name, "--", "nc", "-w", "2", OUTSIDE, "80")
        lab.attempt("exec", "-n", namespace, name, "--", "nslookup", "example.org")

    def pull_failed() -> bool:
        statuses = lab.get("pod", "-n", namespace, "pull")["status"].get("containerStatuses", [])
        return any("Pull" in str(each["state"].get("waiting", {})) for each in statuses)

    eventually(pull_failed, "the pull fails")
    plan = subnets.Subnets(lab.state_dir.require_record().index)
    for address in (plan.pod_cidr(30)[5], plan.spare[5], plan.services[-2], plan.nodes[99]):
        _send(str(address))
    assert leaks.packets() == 0


def test_the_leak_counter_detects_a_packet(lab: Lab, leaks: Leaks) -> None:
    """Validates the test above with a packet to a dummy interface."""
    address = str(subnets.Subnets(lab.state_dir.require_record().index).spare[9])
    _ip("link", "add", DEAD_END, "type", "veth", "peer", "name", f"{DEAD_END}p")
    try:
        _ip("link", "set", f"{DEAD_END}p", "up")
        _ip("link", "set", DEAD_END, "up")
        _ip("route", "add", address, "dev", DEAD_END)
        _send(address)
        assert leaks.packets() > 0
    finally:
        _ip("link", "del", DEAD_END)


def test_the_host_does_not_forward_for_nodes(lab: Lab) -> None:
    index = lab.state_dir.require_record().index
    setting = Path(f"/proc/sys/net/ipv4/conf/{network.bridge(index)}/forwarding")
    assert setting.read_text().strip() == "0"


def _send(address: str) -> None:
    """Try to send one packet; an unreachable network is a valid result."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, suppress(OSError):
        sender.sendto(b"x", (address, 9))


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
