"""Lets packets between nodes pass a host firewall that drops what it forwards.

Frames on a bridge are shown to iptables once br_netfilter is loaded, which nodes need; Docker and
others set the policy of FORWARD to DROP. Then one rule accepts what stays on the lab's own bridge.
Standard library only.
"""

import subprocess
from pathlib import Path

from cobaltcore.lab import kernel

_SHOWN = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def open_bridge(name: str) -> None:
    """Accept packets from port to port of a bridge, if they would be dropped."""
    if not _SHOWN.exists() or _SHOWN.read_text().strip() == "0":
        return
    if "-P FORWARD DROP" in _iptables("-S", "FORWARD") and not _is_open(name):
        _iptables("-I", *_rule(name))


def close_bridge(name: str) -> None:
    """Remove the rule, if it is there."""
    while _is_open(name):
        _iptables("-D", *_rule(name))


def _is_open(name: str) -> bool:
    # Listing a chain makes no table; asking for a rule (-C) might.
    return f"-A {' '.join(_rule(name))}" in _iptables("-S", "FORWARD").splitlines()


def _rule(name: str) -> tuple[str, ...]:
    return ("FORWARD", "-i", name, "-o", name, "-j", "ACCEPT")


def _iptables(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 arguments are ours
            ["iptables", *arguments],  # noqa: S607 the host's own
            capture_output=True,
            text=True,
            check=False,
            env=kernel.environment(),
        )
    except FileNotFoundError:
        return ""
    return done.stdout
