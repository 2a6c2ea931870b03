"""The interface between the client and the network. Tests inject faults here."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from ssl import SSLCertVerificationError, SSLContext
from typing import Protocol

import msgspec

from cobaltcore.runtime import errors

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """Credentials of one request: its headers, and TLS settings with a client certificate."""

    headers: Headers = field(default=(), repr=False)
    ssl: SSLContext | None = None


class Credentials(Protocol):
    """Where the identity of every request comes from."""

    async def identity(self) -> Identity:
        """The current identity; the same object while nothing has changed."""
        ...

    def rejected(self, identity: Identity) -> None:
        """The server responded 401 to `identity`: do not return it again if it can be renewed."""
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the API server is, and the credentials for it."""

    server: str
    ssl: SSLContext | None = None
    """Settings for an https server; by default the system's CA bundle is trusted."""
    credentials: Credentials | None = None
    namespace: str = "default"
    server_name: str = ""
    """Name to expect in the server's certificate instead of the host in `server`."""
    proxy: str = ""


class Request(msgspec.Struct, frozen=True):
    """One HTTP request, without host and credentials."""

    method: str
    path: str
    params: Mapping[str, str] = {}
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


class Response(msgspec.Struct, frozen=True):
    """One HTTP response."""

    status: int
    body: bytes
    retry_after: float = 0


class Socket(Protocol):
    """A WebSocket."""

    async def send(self, message: bytes) -> None: ...

    async def receive(self) -> bytes | None:
        """The next message; None once the peer has closed."""
        ...


class Transport(Protocol):
    """What the client needs of the network."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole response; raise Unreachable if there is none."""
        ...

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Send a request and yield the chunks of its response; raise ApiError on an error status."""
        ...

    def websocket(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        """Open a WebSocket with a subprotocol; raise ApiError if the server refuses it."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def unreachable(server: str, error: Exception) -> errors.Unreachable:
    """The error for a request that got no response from `server`."""
    refused = getattr(error, "certificate_error", error)
    if isinstance(refused, SSLCertVerificationError):
        cause = refused.verify_message or str(refused)
        return errors.Unreachable(
            f"the certificate of the API server at {server} is not trusted: {cause}",
            hint="check certificate-authority and tls-server-name in the kubeconfig",
        )
    return errors.Unreachable(
        f"the API server at {server} is unreachable: {_cause(error)}",
        hint="check that the server is running and that the address in the kubeconfig is right",
    )


def _cause(error: Exception) -> str:
    # The event loop's message for a refused connection has an address and no reason.
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
