"""Read what crosses a network namespace until a file exists: `capture.py STOP NETWORK...`.

Prints one JSON object: for each server port how connections between these networks began, and texts
of plain protocols in any of them. Standard library only.
"""

import json
import select
import socket
import struct
import sys
from collections import Counter
from ipaddress import IPv4Network
from pathlib import Path

ALL = 3
FORCED_BUFFER, BUFFER_BYTES = 33, 64 << 20
SYN, ACK = 0x02, 0x10
TLS = (b"\x16\x03", b"\x15\x03")
"""Beginnings of handshakes, and of the answer to who connects and leaves, as probes do."""
SSL_REQUEST_BYTES, SSL_CAPABILITY = 36, 0x0800
TEXTS = (b" HTTP/1.", b"HTTP/1.1 ", b"SELECT ", b"INSERT INTO ", b"oslo.message", b'{"method":')

Flow = tuple[int, int, int, int]
"""Source and its port, destination and its port."""


class Capture:
    """What was seen of TCP connections."""

    def __init__(self, networks: list[IPv4Network]) -> None:
        self._networks = [(int(each.network_address), int(each.netmask)) for each in networks]
        self._first: dict[Flow, int] = {}
        """Number of the first byte of a direction whose beginning was seen."""
        self._servers: dict[Flow, int] = {}
        """Server port of such directions."""
        self._greeted: set[Flow] = set()
        """Directions to a server that spoke first, in plain text, as databases do."""
        self._probes: set[Flow] = set()
        self.packets = 0
        self.began: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()

    def add(self, packet: bytes) -> None:
        """Look at an IPv4 packet."""
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        source, destination = struct.unpack_from("!II", packet, 12)
        if not (self._is_inside(source) and self._is_inside(destination)):
            return
        self.packets += 1
        start = (packet[0] & 15) * 4
        source_port, port, number = struct.unpack_from("!HHI", packet, start)
        flow, flags = (source, source_port, destination, port), packet[start + 13]
        if flags & SYN:
            self._first[flow] = (number + 1) % 2**32
            self._servers[flow] = source_port if flags & ACK else port
        data = packet[
            start + (packet[start + 12] >> 4) * 4 : struct.unpack_from("!H", packet, 2)[0]
        ]
        if data:
            if self._first.get(flow) == number:
                del self._first[flow]
                self._begin(flow, data)
            self._search(flow, data)

    def _begin(self, flow: Flow, data: bytes) -> None:
        port, back = self._servers[flow], (flow[2], flow[3], flow[0], flow[1])
        if b"kube-probe/" in data:
            self._probes |= {flow, back}
        elif data.startswith(TLS) or back in self._probes:
            self.began[f"{port} tls"] += 1
        elif port == flow[1] and data[4:5] == b"\x0a":
            self._greeted.add(back)
        elif flow in self._greeted and is_request_for_tls(data):
            self.began[f"{port} tls"] += 1
        else:
            self.began[f"{port} plain {data[:16]!r}"] += 1

    def _search(self, flow: Flow, data: bytes) -> None:
        if flow not in self._probes:
            for text in TEXTS:
                if text in data:
                    self.texts[f"{flow[1]} {flow[3]} {text!r}"] += 1

    def _is_inside(self, address: int) -> bool:
        return any(address & mask == network for network, mask in self._networks)


def is_request_for_tls(data: bytes) -> bool:
    """Whether a client of MariaDB continues encrypted."""
    return len(data) == SSL_REQUEST_BYTES and bool(data[5] << 8 & SSL_CAPABILITY)


def main(stop: Path, *networks: str) -> None:
    capture = Capture([IPv4Network(each) for each in networks])
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, BUFFER_BYTES)
        while not stop.exists():
            while select.select([packets], [], [], 0.2)[0]:
                capture.add(packets.recv(1 << 17))
                if stop.exists():
                    break
    found = {"packets": capture.packets, "began": capture.began, "texts": capture.texts}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
