"""Which datapath ovs-vswitchd uses: the kernel's, or userspace (netdev) where the kernel has none."""

import socket
import struct

_ERROR = 2


def choose(wanted: str) -> str:
    """The kernel's datapath if there is one, unless the user has chosen."""
    if wanted != "auto":
        return wanted
    return "system" if kernel_has_family("ovs_datapath") else "netdev"


def kernel_has_family(name: str) -> bool:
    """Ask the kernel for a family of generic netlink messages."""
    attribute = struct.pack("=HH", 4 + len(name) + 1, 2) + name.encode() + b"\0"
    attribute += b"\0" * (-len(attribute) % 4)
    body = struct.pack("=BBH", 3, 1, 0) + attribute
    header = struct.pack("=IHHII", 16 + len(body), 16, 1, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as connection:
        connection.send(header + body)
        answer = connection.recv(4096)
    return bool(struct.unpack_from("=H", answer, 4)[0] != _ERROR)
