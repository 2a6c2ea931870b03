"""Runs beside Open vSwitch on every hypervisor: keeps bridges, addresses and settings as told.

It looks every second whether the settings or the switch's interfaces have changed, and makes sure of
everything from time to time. A switch in user space loses its interfaces with their addresses when it
starts again; they are back a moment later. It may also take down an interface of a server for good:
it writes back flags that it read before somebody else brought the interface up.
Only the standard library and Open vSwitch's own programs are at hand.
"""

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SETTINGS = Path("/etc/ovn-chassis")
ASK = ("--db=unix:/run/openvswitch/db.sock", "--timeout=10")
KEPT = Path("/tmp/settings-kept")  # noqa: S108 a file in the container
INTERFACES = Path("/sys/class/net")
UP = 1
INTEGRATION, TUNNELS = "br-int", "br-tun"
LOOK_SECONDS = 1.0
RENEW_SECONDS = 30.0

Settings = dict[str, Any]


def database_changes(told: Settings, datapath: str) -> list[list[str]]:
    """What should be in the switch's database, as commands of one transaction. Pure."""
    kind = f"datapath_type={datapath}"
    found = [
        ["--may-exist", "add-br", INTEGRATION],
        ["set", "bridge", INTEGRATION, kind, "fail_mode=secure"],
        ["set", "bridge", INTEGRATION, "other-config:disable-in-band=true"],
    ]
    for bridge, interface in plugged(told, datapath).items():
        found += [["--may-exist", "add-br", bridge], ["set", "bridge", bridge, kind]]
        if interface:
            found.append(["--may-exist", "add-port", bridge, interface])
    mappings = ",".join(f"{network}:{bridge}" for network, bridge in told["bridges"].items())
    values = {
        "system-id": told["systemId"],
        "hostname": told["hostname"],
        "ovn-remote": told["remote"],
        "ovn-encap-type": told["encapsulation"]["type"],
        "ovn-encap-ip": told["encapsulation"]["ip"],
        "ovn-bridge": INTEGRATION,
        "ovn-bridge-datapath-type": datapath,
        "ovn-cms-options": "enable-chassis-as-gw",
        "ovn-remote-probe-interval": "30000",
        "ovn-openflow-probe-interval": "60",
        **({"ovn-bridge-mappings": mappings} if mappings else {}),
    }
    pairs = [f"external-ids:{name}={json.dumps(value)}" for name, value in values.items()]
    found.append(["set", "open_vswitch", ".", *pairs])
    if not mappings:
        found.append(["remove", "open_vswitch", ".", "external-ids", "ovn-bridge-mappings"])
    return found


def plugged(told: Settings, datapath: str) -> dict[str, str]:
    """Bridges beside the integration bridge, each with its interface or an empty name. Pure."""
    found = {bridge: told["uplinks"].get(bridge, "") for bridge in told["bridges"].values()}
    if datapath == "netdev" and told["tunnelInterface"]:
        # Tunnels of user space leave through a bridge of the switch that has the address.
        found[TUNNELS] = told["tunnelInterface"]
    return found


def commands(told: Settings, datapath: str) -> list[list[str]]:
    """What should be true of the node's interfaces, as commands. Pure."""
    found = []
    own = plugged(told, datapath)
    for interface in filter(None, own.values()):
        found += [
            ["ip", "link", "set", interface, "up"],
            ["ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off"],
        ]
    carrier = TUNNELS if TUNNELS in own else told["tunnelInterface"]
    if told["tunnelAddress"] and carrier:
        found += [
            ["ip", "link", "set", carrier, "up"],
            ["ip", "address", "replace", told["tunnelAddress"], "dev", carrier],
        ]
    return found


def kernel_settings(told: Settings, datapath: str) -> dict[str, str]:
    """What keeps the kernel out of networks that belong to the switch. Pure."""
    own = [each for each in plugged(told, datapath).values() if each]
    if not own:
        return {}
    # It would answer for the switch's address on every interface, and for packets in tunnels.
    found = {"ipv4/conf/all/arp_ignore": "1"}
    for interface in own:
        found[f"ipv4/conf/{interface}/rp_filter"] = "1"
        found[f"ipv6/conf/{interface}/disable_ipv6"] = "1"
    return found


def choose_datapath(wanted: str) -> str:
    """The kernel's switch if it is there, unless somebody has chosen."""
    if wanted != "auto":
        return wanted
    return "system" if has_family("ovs_datapath") else "netdev"


def has_family(name: str) -> bool:
    """Ask the kernel for a family of generic netlink messages."""
    attribute = struct.pack("=HH", 4 + len(name) + 1, 2) + name.encode() + b"\0"
    attribute += b"\0" * (-len(attribute) % 4)
    body = struct.pack("=BBH", 3, 1, 0) + attribute
    header = struct.pack("=IHHII", 16 + len(body), 16, 1, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as connection:
        connection.send(header + body)
        answer = connection.recv(4096)
    kind = struct.unpack_from("=H", answer, 4)[0]
    is_error = 2
    return bool(kind != is_error)


def interfaces(told: Settings) -> tuple[str, ...]:
    """Identities of the switch's own interfaces: they change when it starts again."""
    names = (INTEGRATION, TUNNELS, *told["bridges"].values())
    paths = [INTERFACES / name / "ifindex" for name in names]
    return tuple(path.read_text() if path.exists() else "" for path in paths)


def apply(told: Settings) -> None:
    """Make everything as told; raise CalledProcessError if something refuses."""
    datapath = choose_datapath(told["datapath"])
    joined: list[str] = []
    for each in database_changes(told, datapath):
        joined += ["--", *each]
    _run("ovs-vsctl", *ASK, "--no-wait", *joined)
    for name, value in kernel_settings(told, datapath).items():
        path = Path("/proc/sys/net") / name
        if path.exists():
            path.write_text(value)
    for command in commands(told, datapath):
        _run(*command)


def fallen(directory: Path) -> set[str]:
    """Names of interfaces that are not up."""
    found = set()
    for each in directory.iterdir():
        try:
            flags = int((each / "flags").read_text(), 16)
        except OSError:
            continue  # gone meanwhile, or no interface
        if not flags & UP:
            found.add(each.name)
    return found


def raise_plugged(names: set[str]) -> set[str]:
    """Bring up those that servers are behind; return the rest, which is none of our business."""
    plugged = set(_run("ovs-vsctl", *ASK, "list-ifaces", INTEGRATION).split())
    for name in sorted(names & plugged):
        # One that has gone with its server meanwhile is fine, any other is found again.
        done = subprocess.run(["ip", "link", "set", name, "up"], check=False, capture_output=True)  # noqa: S603, S607 our words
        if not done.returncode:
            sys.stderr.write(f"interface {name} was down\n")
    return names - plugged


class Keeper:
    """Looks again and again, and remembers what needs no second look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: tuple[str, tuple[str, ...]] | None = None
        self._strangers: set[str] = set()
        self._renewed = 0.0

    def look(self) -> None:
        """Mend what is not as it should be; what refuses is tried again at the next look."""
        text = self._path.read_text() if self._path.exists() else ""
        try:
            is_kept = bool(text) and self._mend(text)
        except subprocess.CalledProcessError as error:
            said = (error.stderr or "").strip().splitlines()
            sys.stderr.write(f"{error.cmd[0]}: {said[-1] if said else error.returncode}\n")
            is_kept = False
        if not is_kept:
            self._done = None
            KEPT.unlink(missing_ok=True)
        elif not KEPT.exists():
            sys.stderr.write(f"the switch is as told: {text}\n")
            KEPT.touch()

    def _mend(self, text: str) -> bool:
        told = json.loads(text)
        seen = (text, interfaces(told))
        if seen != self._done or time.monotonic() - self._renewed > RENEW_SECONDS:
            apply(told)
            self._done = seen
            self._strangers = set()
            self._renewed = time.monotonic()
        down = fallen(INTERFACES) - self._strangers
        if down:
            self._strangers |= raise_plugged(down)
        # A bridge exists for the kernel only once the switch has made it.
        return (INTERFACES / INTEGRATION).exists()


def _run(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 our words
    return done.stdout


def main() -> None:
    """Look for ever."""
    keeper = Keeper(SETTINGS / f"{os.environ['NODE_NAME']}.json")
    while True:
        keeper.look()
        select.select([], [], [], LOOK_SECONDS)


if __name__ == "__main__":
    main()
