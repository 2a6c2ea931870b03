"""Sends echo requests and counts answers: `python3 - ADDRESS COUNT SECONDS` in a container.

Prints how many were sent and how many stayed without an answer. Standard library only.
"""

import select
import socket
import struct
import sys
import time

_OWN = 77


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def request(number: int) -> bytes:
    body = struct.pack("!BBHHH", 8, 0, 0, _OWN, number) + b"cobaltcore"
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def is_answered(raw: socket.socket, number: int, until: float) -> bool:
    while (left := until - time.monotonic()) > 0 and select.select([raw], [], [], left)[0]:
        packet = raw.recv(2048)
        if packet[20] == 0 and struct.unpack_from("!HH", packet, 24) == (_OWN, number):
            return True
    return False


def main() -> None:
    address, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    lost = 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        for number in range(count):
            until = time.monotonic() + seconds
            try:
                raw.sendto(request(number), (address, 0))
            except OSError:
                # The neighbour is not known at the moment: as good as lost.
                lost += 1
            else:
                lost += not is_answered(raw, number, until)
            select.select([], [], [], max(0.0, until - time.monotonic()))
    sys.stdout.write(f"{count} {lost}\n")


if __name__ == "__main__":
    main()
