"""Accepts traffic between nodes if the host firewall drops forwarded packets.

With br_netfilter, which nodes need, iptables also sees bridged frames, and Docker sets the policy of
FORWARD to DROP. One rule then accepts packets between the ports of the lab's own bridge.
Standard library only.
"""

from pathlib import Path

from cobaltlab import command

_BRIDGE_NF_CALL = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def open_bridge(name: str) -> None:
    """Accept packets between ports of a bridge, if they would be dropped."""
    if not _BRIDGE_NF_CALL.exists() or _BRIDGE_NF_CALL.read_text().strip() == "0":
        return
    if "-P FORWARD DROP" in _iptables("-S", "FORWARD") and not _is_open(name):
        _iptables("-I", *_rule(name))


def close_bridge(name: str) -> None:
    while _is_open(name):
        _iptables("-D", *_rule(name))


def _is_open(name: str) -> bool:
    # Listing a chain creates no table; checking a rule (-C) might.
    return f"-A {' '.join(_rule(name))}" in _iptables("-S", "FORWARD").splitlines()


def _rule(name: str) -> tuple[str, ...]:
    return ("FORWARD", "-i", name, "-o", name, "-j", "ACCEPT")


def _iptables(*arguments: str) -> str:
    try:
        return command.run(["iptables", *arguments]).stdout
    except FileNotFoundError:
        return ""
