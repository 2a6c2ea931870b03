"""Open the graphical console of a server as a browser does: `console.py URL`.

Runs in the toolbox pod. Prints one JSON object: the status of the page, and what the display
sends until it has admitted the client.
"""

import base64
import json
import os
import socket
import ssl
import sys
from typing import BinaryIO
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import openstack  # type: ignore[import-not-found]  # in the toolbox image

TIMEOUT_SECONDS = 60
NO_PASSWORD = b"\x01"
"""RFB's security type without authentication: the token has admitted the browser."""


def trust() -> ssl.SSLContext:
    """The CA of the cloud."""
    with openstack.connect() as cloud:
        return ssl.create_default_context(cafile=cloud.config.config.get("cacert"))


def display(host: str, port: int, path: str, context: ssl.SSLContext) -> list[str]:
    """What the display sends through a WebSocket until it has admitted the client, as hexadecimal.

    The proxy has authenticated with the display when the last of the three messages arrives.
    """
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: https://{host}:{port}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: binary\r\n\r\n"
    )
    with (
        socket.create_connection((host, port), timeout=TIMEOUT_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        connection.sendall(request.encode())
        received = connection.makefile("rb")
        status = received.readline().decode()
        if " 101 " not in status:
            return [status.strip()]
        while received.readline().strip():
            pass
        version = message(received)
        connection.sendall(frame(version))
        kinds = message(received)
        connection.sendall(frame(NO_PASSWORD))
        return [version.decode().strip(), kinds.hex(), message(received).hex()]


def message(received: BinaryIO) -> bytes:
    """The content of the next short frame that has any."""
    content = b""
    while not content:
        _, length = received.read(2)
        content = received.read(length & 0x7F)
    return content


def frame(content: bytes) -> bytes:
    """A short frame; clients mask theirs."""
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(content))
    return bytes((0x82, 0x80 | len(content))) + mask + masked


def main(url: str) -> None:
    context, parts = trust(), urlsplit(url)
    with urlopen(url, context=context, timeout=TIMEOUT_SECONDS) as page:
        status = page.status
    (path,) = parse_qs(parts.query)["path"]
    assert parts.hostname
    assert parts.port
    first = display(parts.hostname, parts.port, f"/{path}", context)
    sys.stdout.write(json.dumps({"status": status, "display": first}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
