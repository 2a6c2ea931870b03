"""One DNS query, to check that a server answers."""

import secrets
import socket
import struct
from ipaddress import IPv4Address

_ADDRESS_RECORD = 1
_INTERNET = 1
_RECURSION_DESIRED = 0x0100
_FAILURE = 0x000F
_HEADER_SIZE = 12


def resolves(name: str, *, server: IPv4Address, port: int = 53, timeout: float = 0.3) -> bool:
    """Whether the server answers with an A record for the name."""
    number = secrets.randbelow(2**16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect((str(server), port))
            connection.send(_question(name, number))
            answer = connection.recv(4096)
        except OSError:
            return False
    if len(answer) < _HEADER_SIZE:
        return False
    identity, flags, _, answers = struct.unpack(">HHHH", answer[:8])
    return bool(identity == number and flags & _FAILURE == 0 and answers)


def _question(name: str, number: int) -> bytes:
    header = struct.pack(">HHHHHH", number, _RECURSION_DESIRED, 1, 0, 0, 0)
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return header + labels + b"\0" + struct.pack(">HH", _ADDRESS_RECORD, _INTERNET)
