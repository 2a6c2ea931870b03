"""Loopback ports that no other process of the machine can take while they are reserved."""

import socket


class ReservedPort:
    """A port held by a bound socket that never listens.

    Servers that share ports (SO_REUSEPORT) may listen on it; the kernel gives it to no one else.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        self._socket.close()
