"""What bridges, interfaces and kernel settings of a hypervisor should be. Pure."""

import json
from typing import TypedDict

INTEGRATION, TUNNELS = "br-int", "br-tun"


class Encapsulation(TypedDict):
    """The tunnels of a chassis: their type and their address."""

    type: str
    ip: str


class Settings(TypedDict):
    """The settings of one chassis, as the operator writes them into its ConfigMap."""

    systemId: str
    hostname: str
    remote: str
    encapsulation: Encapsulation
    tunnelAddress: str
    tunnelInterface: str
    bridges: dict[str, str]
    """Bridge by physical network."""
    uplinks: dict[str, str]
    """Interface by bridge."""
    datapath: str


def database_changes(settings: Settings, datapath: str) -> list[list[str]]:
    """What should be in the Open vSwitch database, as commands of one transaction."""
    kind = f"datapath_type={datapath}"
    found = [
        ["--may-exist", "add-br", INTEGRATION],
        ["set", "bridge", INTEGRATION, kind, "fail_mode=secure"],
        ["set", "bridge", INTEGRATION, "other-config:disable-in-band=true"],
    ]
    for bridge, interface in uplinks(settings, datapath).items():
        found += [["--may-exist", "add-br", bridge], ["set", "bridge", bridge, kind]]
        if interface:
            found.append(["--may-exist", "add-port", bridge, interface])
    mappings = ",".join(f"{network}:{bridge}" for network, bridge in settings["bridges"].items())
    values = {
        "system-id": settings["systemId"],
        "hostname": settings["hostname"],
        "ovn-remote": settings["remote"],
        "ovn-encap-type": settings["encapsulation"]["type"],
        "ovn-encap-ip": settings["encapsulation"]["ip"],
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


def uplinks(settings: Settings, datapath: str) -> dict[str, str]:
    """Bridges other than the integration bridge, each with its interface or an empty name."""
    found = {
        bridge: settings["uplinks"].get(bridge, "") for bridge in settings["bridges"].values()
    }
    if datapath == "netdev" and settings["tunnelInterface"]:
        # Tunnels of the userspace datapath leave through a bridge that has the address.
        found[TUNNELS] = settings["tunnelInterface"]
    return found


def interface_commands(settings: Settings, datapath: str) -> list[list[str]]:
    """What should be true of the node's interfaces, as commands."""
    found = []
    own = uplinks(settings, datapath)
    for interface in filter(None, own.values()):
        found += [
            ["ip", "link", "set", interface, "up"],
            ["ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off"],
        ]
    carrier = TUNNELS if TUNNELS in own else settings["tunnelInterface"]
    if settings["tunnelAddress"] and carrier:
        found += [
            ["ip", "link", "set", carrier, "up"],
            ["ip", "address", "replace", settings["tunnelAddress"], "dev", carrier],
        ]
    return found


def kernel_settings(settings: Settings, datapath: str) -> dict[str, str]:
    """What keeps the kernel out of networks that belong to OVS."""
    own = [each for each in uplinks(settings, datapath).values() if each]
    if not own:
        return {}
    # It would answer for the address of OVS on every interface, and for packets in tunnels.
    found = {"ipv4/conf/all/arp_ignore": "1"}
    for interface in own:
        found[f"ipv4/conf/{interface}/rp_filter"] = "1"
        found[f"ipv6/conf/{interface}/disable_ipv6"] = "1"
    return found
