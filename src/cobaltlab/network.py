"""The lab's part of the host's network: two bridges, three veth pairs per node, routes.

The node bridge has the address of the host; eth0 of each node is attached to it, and tun0, which
Open vSwitch uses for Geneve tunnels between nodes. The external bridge carries the provider network:
ext0 of each node is attached to it, and the host has no address there.

The node bridge is created first and deleted last, and its alias holds name and directory of the lab,
so that leftovers on the host have a known owner. A blackhole route over the whole block of addresses
keeps packets to a stopped lab from the default route.
Standard library only.
"""

import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from cobaltlab import command, firewall, subnets

# Marks our routes; no other program uses this number (see /etc/iproute2/rt_protos).
ROUTE_PROTOCOL = "183"

TUNNEL_INTERFACE = "tun0"
EXTERNAL_INTERFACE = "ext0"

_BRIDGE = "cobalt"
_ALIAS = "cobaltcore"
# veth pairs: letter in the name of the host end, interface name in the node.
_VETH_PAIRS = {"n": "eth0", "t": TUNNEL_INTERFACE, "x": EXTERNAL_INTERFACE}


@dataclass(frozen=True, slots=True)
class BridgeOwner:
    """The lab that a bridge belongs to."""

    name: str
    index: int
    directory: Path
    is_up: bool = field(default=False, compare=False)


class IpError(Exception):
    """The `ip` command failed; the message holds its stderr."""


def bridge(index: int) -> str:
    """The bridge of the nodes' network."""
    return f"{_BRIDGE}{index}"


def external_bridge(index: int) -> str:
    """The bridge of the external (provider) network."""
    return f"{_BRIDGE}{index}x"


def veth(index: int, number: int, kind: str = "n") -> str:
    """The host end of a veth pair of a node."""
    return f"{_BRIDGE}{index}{kind}{number}"


def bridge_owners() -> list[BridgeOwner]:
    """All labs that have a bridge on this host."""
    found = []
    for link in _query("link", "show", "type", "bridge"):
        prefix, _, rest = str(link.get("ifalias", "")).partition(":")
        number = str(link["ifname"]).removeprefix(_BRIDGE)
        if prefix == _ALIAS and number.isdecimal():
            name, _, directory = rest.partition(":")
            is_up = "UP" in link.get("flags", ())
            found.append(BridgeOwner(name, int(number), Path(directory), is_up))
    return found


def claim_bridge(owner: BridgeOwner) -> bool:
    """Create the bridge of a lab; False if one of that name has another owner."""
    name = bridge(owner.index)
    with _lock():
        if owner in bridge_owners():
            return True
        present = [each for each in _query("link", "show") if each["ifname"] == name]
        if any(each.get("ifalias") for each in present):
            return False
        if not present:
            _ip("link", "add", name, "type", "bridge")
        _ip("link", "set", name, "alias", f"{_ALIAS}:{owner.name}:{owner.directory}")
    return True


def configure(index: int) -> None:
    """Configure both bridges: blackhole route, address, no forwarding by the host."""
    plan, name = subnets.Subnets(index), bridge(index)
    ip_batch(
        [
            f"route replace blackhole {plan.block} proto {ROUTE_PROTOCOL}",
            f"addr replace {plan.host}/{plan.nodes.prefixlen} dev {name}",
        ]
    )
    if not _exists(external_bridge(index)):
        ip_batch([f"link add {external_bridge(index)} type bridge"])
    settings = Path("/proc/sys/net")
    for each in (name, external_bridge(index)):
        (settings / f"ipv4/conf/{each}/forwarding").write_text("0")
        ipv6 = settings / f"ipv6/conf/{each}/disable_ipv6"
        if ipv6.exists():
            ipv6.write_text("1")
        ip_batch([f"link set {each} up"])
        firewall.open_bridge(each)


def attach(index: int, number: int, *, pid: int) -> None:
    """Create veth pairs from the bridges into a node's network namespace, and routes to its pods."""
    plan = subnets.Subnets(index)
    detach(index, number)
    for kind, name in _VETH_PAIRS.items():
        end, master = (
            veth(index, number, kind),
            external_bridge(index) if kind == "x" else bridge(index),
        )
        ip_batch(
            [
                f"link add {end} type veth peer name {name} netns {pid}",
                f"link set {end} master {master} up",
            ]
        )
    ip_batch([_route(plan.pod_cidr(number), plan.node(number))])
    if number == 0:
        ip_batch([_route(plan.services, plan.node(0))])


def detach(index: int, number: int) -> None:
    """Delete the veth pairs of a node; the kernel frees its namespace asynchronously."""
    for kind in _VETH_PAIRS:
        if _exists(veth(index, number, kind)):
            ip_batch([f"link del {veth(index, number, kind)}"])


def deconfigure(index: int) -> None:
    """Delete links and routes of a lab, except the bridge (set down) and the blackhole route.

    These reserve the addresses as long as the lab has data, because kubeconfigs refer to them.
    """
    for end in _veths(index):
        ip_batch([f"link del {end}"], check=False)
    block = subnets.Subnets(index).block
    for destination in own_routes():
        if destination.subnet_of(block) and destination != block:
            ip_batch([f"route del {destination} proto {ROUTE_PROTOCOL}"], check=False)
    for each in (bridge(index), external_bridge(index)):
        firewall.close_bridge(each)
    if _exists(external_bridge(index)):
        ip_batch([f"link del {external_bridge(index)}"])
    if _exists(bridge(index)):
        ip_batch([f"link set {bridge(index)} down", f"addr flush dev {bridge(index)}"])


def remove(index: int) -> None:
    """Delete all links and routes of a lab, the bridge last."""
    deconfigure(index)
    block = subnets.Subnets(index).block
    ip_batch([f"route del blackhole {block} proto {ROUTE_PROTOCOL}"], check=False)
    if _exists(bridge(index)):
        ip_batch([f"link del {bridge(index)}"])


def own_routes() -> list[IPv4Network]:
    """Destinations of all routes created by labs, the most specific first."""
    found = [_network(each) for each in _query("-4", "route", "show", "proto", ROUTE_PROTOCOL)]
    return sorted(found, key=lambda each: -each.prefixlen)


def foreign_routes() -> list[IPv4Network]:
    """Destinations of all other routes, without the default route."""
    bridges = {bridge(owner.index) for owner in bridge_owners()}
    routes = [
        _network(each)
        for each in _query("-4", "route", "show", "table", "all")
        if each.get("protocol") != ROUTE_PROTOCOL
        and each.get("dev") not in bridges
        and each["dst"] != "default"
    ]
    return [each for each in routes if each.prefixlen]


def node_commands(plan: subnets.Subnets, number: int) -> list[str]:
    """The `ip` commands that configure the network namespace of a node.

    Routes to pods exist for all possible nodes, so that a new node changes no other. There is no
    default route, so nothing leaves the lab. Service addresses need a route, because a packet of the
    node itself is routed before DNAT.
    """
    return [
        "link set lo up",
        f"addr add {plan.node(number)}/{plan.nodes.prefixlen} dev eth0",
        *(f"link set {name} up" for name in _VETH_PAIRS.values()),
        f"route add {plan.services} dev eth0",
        *(
            f"route add {plan.pod_cidr(other)} via {plan.node(other)}"
            for other in range(subnets.MAX_NODES)
            if other != number
        ),
    ]


def ip_batch(commands: Sequence[str], *, check: bool = True) -> None:
    """Run `ip` commands as one batch."""
    try:
        _ip("-batch", "-", text="\n".join(commands) + "\n")
    except IpError:
        if check:
            raise


def _veths(index: int) -> list[str]:
    """The host ends of all veth pairs of a lab."""
    name = re.compile(rf"{bridge(index)}[{''.join(_VETH_PAIRS)}]\d+")
    return [found for _, found in socket.if_nameindex() if name.fullmatch(found)]


def _exists(link: str) -> bool:
    # Not from /sys, which shows the network namespace in which it was mounted.
    return any(found == link for _, found in socket.if_nameindex())


def _route(destination: IPv4Network, gateway: IPv4Address) -> str:
    return f"route replace {destination} via {gateway} proto {ROUTE_PROTOCOL}"


def _network(route: dict[str, Any]) -> IPv4Network:
    destination = str(route["dst"])
    return IPv4Network("0.0.0.0/0" if destination == "default" else destination, strict=False)


def _query(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_ip("-json", *arguments) or "[]")
    return [each for each in found if each]


def _ip(*arguments: str, text: str = "") -> str:
    done = command.run(["ip", *arguments], stdin=text)
    if done.returncode:
        tried = text.strip() or " ".join(arguments)
        raise IpError(f"`ip {tried}` failed: {command.last_line(done)}")
    return done.stdout


@contextmanager
def _lock() -> Iterator[None]:
    """Keep other labs from claiming the same number at the same time."""
    directory = os.open("/run", os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
