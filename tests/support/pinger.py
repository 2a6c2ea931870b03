"""Sends echo requests and counts answers: `python3 - ADDRESS COUNT SECONDS` in a container.

Prints the number of sent and of lost requests. Standard library only.
"""

import select
import socket
import struct
import sys
import time
from contextlib import suppress

_IDENTIFIER = 77
_TIMEOUT_SECONDS = 3.0


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def request(number: int) -> bytes:
    body = struct.pack("!BBHHH", 8, 0, 0, _IDENTIFIER, number) + b"cobaltcore"
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def collect(raw: socket.socket, answered: set[int], wanted: int, until: float) -> None:
    """Receive answers, late ones too, until a deadline or until all have arrived."""
    while len(answered) < wanted and (left := until - time.monotonic()) > 0:
        if select.select([raw], [], [], left)[0]:
            packet = raw.recv(2048)
            identity, number = struct.unpack_from("!HH", packet, 24)
            if packet[20] == 0 and identity == _IDENTIFIER:
                answered.add(number)


def main() -> None:
    address, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    answered: set[int] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        for number in range(count):
            until = time.monotonic() + seconds
            # Without an ARP entry sending fails, which counts as lost.
            with suppress(OSError):
                raw.sendto(request(number), (address, 0))
            collect(raw, answered, count, until)
        collect(raw, answered, count, time.monotonic() + _TIMEOUT_SECONDS)
    sys.stdout.write(f"{count} {count - len(answered)}\n")


if __name__ == "__main__":
    main()
