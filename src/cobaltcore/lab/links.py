"""The lab's part of the host's network: two bridges, three cables per node, routes. Nothing else.

The nodes' network has a bridge with the host on it: a node's eth0 is plugged in there, and its
tun0, which a virtual switch uses for tunnels between nodes. The other bridge is the outside world
of virtual networks: a node's ext0 is plugged in there, and the host has no address on it.

The bridge comes first and goes last, and its alias names the instance and its directory: as long
as an instance has anything on the host, the bridge tells whose it is. The blackhole route comes
with it, so that no packet to an address of the lab ever takes the default route.
Standard library only.
"""

import fcntl
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from cobaltcore.lab import firewall, kernel, ranges

# Marks our routes; no other program uses this number (see /etc/iproute2/rt_protos).
ROUTE_PROTOCOL = "183"

TUNNELS = "tun0"
OUTSIDE = "ext0"

_BRIDGE = "cobalt"
_ALIAS = "cobaltcore"
# Cables by the letter in the name of the host's end: the name of the node's end.
_CABLES = {"n": "eth0", "t": TUNNELS, "x": OUTSIDE}


@dataclass(frozen=True, slots=True)
class Owner:
    """The instance that a bridge belongs to."""

    name: str
    index: int
    directory: Path
    is_up: bool = field(default=False, compare=False)


class IpError(Exception):
    """The `ip` command refused something; the message is its own."""


def bridge(index: int) -> str:
    """The bridge of an instance."""
    return f"{_BRIDGE}{index}"


def outside(index: int) -> str:
    """The bridge that stands for the outside world of virtual networks."""
    return f"{_BRIDGE}{index}x"


def cable(index: int, number: int, kind: str = "n") -> str:
    """The host's end of a cable to a node."""
    return f"{_BRIDGE}{index}{kind}{number}"


def owners() -> list[Owner]:
    """All instances that have a bridge."""
    found = []
    for link in _query("link", "show", "type", "bridge"):
        prefix, _, rest = str(link.get("ifalias", "")).partition(":")
        number = str(link["ifname"]).removeprefix(_BRIDGE)
        if prefix == _ALIAS and number.isdecimal():
            name, _, directory = rest.partition(":")
            is_up = "UP" in link.get("flags", ())
            found.append(Owner(name, int(number), Path(directory), is_up))
    return found


def claim(owner: Owner) -> bool:
    """Make the bridge of an instance; False if somebody else has one of that name."""
    name = bridge(owner.index)
    with _one_at_a_time():
        if owner in owners():
            return True
        present = [each for each in _query("link", "show") if each["ifname"] == name]
        if any(each.get("ifalias") for each in present):
            return False
        if not present:
            _ip("link", "add", name, "type", "bridge")
        _ip("link", "set", name, "alias", f"{_ALIAS}:{owner.name}:{owner.directory}")
    return True


def connect(index: int) -> None:
    """Give the bridge its address, with the blackhole route first; the host forwards nothing."""
    plan, name = ranges.Ranges(index), bridge(index)
    run(
        [
            f"route replace blackhole {plan.block} proto {ROUTE_PROTOCOL}",
            f"addr replace {plan.host}/{plan.nodes.prefixlen} dev {name}",
        ]
    )
    if not _exists(outside(index)):
        run([f"link add {outside(index)} type bridge"])
    settings = Path("/proc/sys/net")
    for each in (name, outside(index)):
        (settings / f"ipv4/conf/{each}/forwarding").write_text("0")
        ipv6 = settings / f"ipv6/conf/{each}/disable_ipv6"
        if ipv6.exists():
            ipv6.write_text("1")
        run([f"link set {each} up"])
        firewall.open_bridge(each)


def plug_in(index: int, number: int, *, pid: int) -> None:
    """Lay cables from the bridges into a node's network namespace, and route its pods to it."""
    plan = ranges.Ranges(index)
    unplug(index, number)
    for kind, name in _CABLES.items():
        end, master = cable(index, number, kind), outside(index) if kind == "x" else bridge(index)
        run(
            [
                f"link add {end} type veth peer name {name} netns {pid}",
                f"link set {end} master {master} up",
            ]
        )
    run([_route(plan.pods_of(number), plan.node(number))])
    if number == 0:
        run([_route(plan.services, plan.node(0))])


def unplug(index: int, number: int) -> None:
    """Remove the host's ends of cables, if they are there; a namespace takes its time to go."""
    for kind in _CABLES:
        if _exists(cable(index, number, kind)):
            run([f"link del {cable(index, number, kind)}"])


def disconnect(index: int) -> None:
    """Remove all links and routes of an instance but the bridge, down, and the blackhole route.

    They stay as long as the instance has data: there are kubeconfigs that name its addresses, and
    nobody else should get them.
    """
    for end in _cables(index):
        run([f"link del {end}"], check=False)
    block = ranges.Ranges(index).block
    for destination in marked_routes():
        if destination.subnet_of(block) and destination != block:
            run([f"route del {destination} proto {ROUTE_PROTOCOL}"], check=False)
    for each in (bridge(index), outside(index)):
        firewall.close_bridge(each)
    if _exists(outside(index)):
        run([f"link del {outside(index)}"])
    if _exists(bridge(index)):
        run([f"link set {bridge(index)} down", f"addr flush dev {bridge(index)}"])


def remove(index: int) -> None:
    """Remove everything of an instance, the bridge last."""
    disconnect(index)
    block = ranges.Ranges(index).block
    run([f"route del blackhole {block} proto {ROUTE_PROTOCOL}"], check=False)
    if _exists(bridge(index)):
        run([f"link del {bridge(index)}"])


def marked_routes() -> list[IPv4Network]:
    """Destinations of all routes that the lab made, the most specific first."""
    found = [_network(each) for each in _query("-4", "route", "show", "proto", ROUTE_PROTOCOL)]
    return sorted(found, key=lambda each: -each.prefixlen)


def foreign_routes() -> list[IPv4Network]:
    """Destinations of all routes that the lab did not make, without the default route."""
    bridges = {bridge(owner.index) for owner in owners()}
    routes = [
        _network(each)
        for each in _query("-4", "route", "show", "table", "all")
        if each.get("protocol") != ROUTE_PROTOCOL
        and each.get("dev") not in bridges
        and each["dst"] != "default"
    ]
    return [each for each in routes if each.prefixlen]


def inside(plan: ranges.Ranges, number: int) -> list[str]:
    """What a node sets up in its own network namespace.

    It knows the way to the pods of nodes that may come, so that one more node changes no other.
    There is no default route, so nothing leaves the lab. Services need some route, because a
    packet from the node itself is routed before its destination is translated.
    """
    return [
        "link set lo up",
        f"addr add {plan.node(number)}/{plan.nodes.prefixlen} dev eth0",
        *(f"link set {name} up" for name in _CABLES.values()),
        f"route add {plan.services} dev eth0",
        *(
            f"route add {plan.pods_of(other)} via {plan.node(other)}"
            for other in range(ranges.MOST_NODES)
            if other != number
        ),
    ]


def run(commands: Sequence[str], *, check: bool = True) -> None:
    """Run `ip` commands in one go."""
    try:
        _ip("-batch", "-", text="\n".join(commands) + "\n")
    except IpError:
        if check:
            raise


def _cables(index: int) -> list[str]:
    """The host's ends of all cables of an instance."""
    name = re.compile(rf"{bridge(index)}[{''.join(_CABLES)}]\d+")
    return [found for _, found in socket.if_nameindex() if name.fullmatch(found)]


def _exists(link: str) -> bool:
    # Not by /sys, which shows the links of whatever network it was mounted in.
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
    done = subprocess.run(  # noqa: S603 arguments are ours
        ["ip", *arguments],  # noqa: S607 the host's own
        input=text,
        text=True,
        capture_output=True,
        check=False,
        env=kernel.environment(),
    )
    if done.returncode:
        tried = text.strip() or " ".join(arguments)
        raise IpError(f"ip: {done.stderr.strip() or 'failed'} (tried: {tried})")
    return done.stdout


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Keep other instances from taking the same number at the same moment."""
    directory = os.open("/run", os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
