"""The certificates that are served in a network namespace, by port. Runs in it.

Prints one JSON object: port to the SHA-256 of the certificate. Standard library only.
"""

import hashlib
import json
import socket
import ssl
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

LISTEN = "0A"
MARIADB = 3306
SSL_REQUEST = struct.pack("<IIIB23x", 32 | 1 << 24, 0x0008AA00, 1 << 24, 33)
TIMEOUT_SECONDS = 3.0


def listeners() -> Iterator[tuple[str, int]]:
    """Addresses and ports."""
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].partition(":")
            if fields[3] == LISTEN:
                yield readable(address), int(port, 16)


def readable(address: str) -> str:
    """An address of /proc; that of any interface is reached at loopback."""
    words = [struct.pack("<I", int(address[i : i + 8], 16)) for i in range(0, len(address), 8)]
    packed = b"".join(words)
    if not any(packed):
        return "127.0.0.1"
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def certificate(address: str, port: int) -> bytes | None:
    """What a server shows; None if it does not speak TLS."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((address, port), TIMEOUT_SECONDS) as plain:
            if port == MARIADB:
                plain.recv(1024)
                plain.sendall(SSL_REQUEST)
            with context.wrap_socket(plain) as encrypted:
                return encrypted.getpeercert(binary_form=True)
    except OSError:
        return None


def main() -> None:
    found = {port: certificate(address, port) for address, port in sorted(set(listeners()))}
    digests = {port: hashlib.sha256(each).hexdigest() for port, each in found.items() if each}
    sys.stdout.write(json.dumps(digests) + "\n")


if __name__ == "__main__":
    main()
