"""The one seam to the network: a request in, bytes out. Tests put faults in between here."""

import asyncio
import socket
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Protocol

import aiohttp
import msgspec

from cobaltcore.runtime import errors

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """As whom one request speaks: its headers, and TLS settings that hold a client certificate."""

    headers: Headers = field(default=(), repr=False)
    ssl: SSLContext | None = None


class Credentials(Protocol):
    """Asked before every request, and told when the server refused the answer."""

    async def identity(self) -> Identity:
        """As whom to speak now; the same object while nothing has changed."""
        ...

    def rejected(self, identity: Identity) -> None:
        """Hear that the server answered 401 to `identity`, so that a newer one is looked for."""
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the API server is, and as whom we speak to it."""

    server: str
    ssl: SSLContext | bool = True
    credentials: Credentials | None = None
    namespace: str = "default"
    server_name: str = ""
    """Name to expect in the server's certificate instead of the host in `server`."""
    proxy: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, without host and credentials."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer."""

    status: int
    body: bytes
    retry_after: float = 0


class Socket(Protocol):
    """A conversation of whole messages in both directions."""

    async def send(self, message: bytes) -> None:
        """Send a message."""
        ...

    async def receive(self) -> bytes | None:
        """The next message; None once the other side has said everything."""
        ...


class Transport(Protocol):
    """What the client needs of the network."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer; raise Unreachable if there is none."""
        ...

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a request whose answer comes in pieces; raise ApiError on an error status."""
        ...

    def converse(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Socket]:
        """Open a WebSocket that speaks `protocol`; raise ApiError if the server refuses it."""
        ...

    async def close(self) -> None:
        """Give up all connections."""
        ...


_ANONYMOUS = Identity()


class _Sockets:
    """The sockets of a transport, to know when the last one is closed.

    A request that is cancelled leaves a TLS connection that says goodbye in the background.
    """

    def __init__(self) -> None:
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def open(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Make a socket as asyncio would."""
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)  # noqa: FBT003 not ours to name
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._open.add(made)
        return made

    async def all_closed(self, *, within: float = 2) -> None:
        """Wait for the goodbyes; a server that is gone does not answer them."""
        end = asyncio.get_running_loop().time() + within
        while any(each.fileno() != -1 for each in self._open):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(0.005)


class _WebSocket:
    """A Socket on aiohttp."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def send(self, message: bytes) -> None:
        await self._socket.send_bytes(message)

    async def receive(self) -> bytes | None:
        message = await self._socket.receive()
        if message.type == aiohttp.WSMsgType.ERROR:
            raise aiohttp.ClientConnectionError(str(message.data))
        return message.data if message.type == aiohttp.WSMsgType.BINARY else None


class HttpTransport:
    """Transport on aiohttp with a shared connection pool."""

    def __init__(self, connection: Connection, *, agent: str, request_timeout: float = 30) -> None:
        self._connection = connection
        self._agent = agent
        self._timeout = aiohttp.ClientTimeout(total=request_timeout, sock_connect=5)
        self._session: aiohttp.ClientSession | None = None
        self._sockets = _Sockets()

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        try:
            async with self._exchange(request, self._timeout) as answer:
                return Response(answer.status, await answer.read(), _retry_after(answer))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a request whose answer comes in pieces, none later than `idle_timeout` seconds."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=idle_timeout)
        try:
            async with self._exchange(request, limits) as answer:
                if answer.status >= 400:
                    retry_after = _retry_after(answer)
                    raise errors.from_status(
                        answer.status, await answer.read(), retry_after=retry_after
                    )
                try:
                    yield answer.content.iter_any()
                finally:
                    _hang_up(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def converse(self, request: Request, *, protocol: str) -> AsyncIterator[Socket]:
        """Open a WebSocket that speaks `protocol`."""
        try:
            socket = await self._upgrade(request, protocol)
            async with socket:
                if socket.protocol != protocol:
                    raise errors.Unreachable(
                        f"the API server at {self._connection.server} does not speak {protocol}",
                        hint="it must be Kubernetes 1.30 or newer",
                    )
                yield _WebSocket(socket)
        except aiohttp.WSServerHandshakeError as error:
            raise _refusal(request, error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from error

    async def close(self) -> None:
        """Give up all connections."""
        if self._session is not None:
            await self._session.close()
            await self._sockets.all_closed()

    @asynccontextmanager
    async def _exchange(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        credentials = self._connection.credentials
        identity = fresh = await credentials.identity() if credentials else _ANONYMOUS
        async with self._open(request, limits, identity) as answer:
            if answer.status == 401 and credentials:
                credentials.rejected(identity)
                fresh = await credentials.identity()
            if fresh is identity:
                yield answer
                return
        async with self._open(request, limits, fresh) as answer:
            yield answer

    async def _upgrade(self, request: Request, protocol: str) -> aiohttp.ClientWebSocketResponse:
        credentials = self._connection.credentials
        identity = await credentials.identity() if credentials else _ANONYMOUS
        try:
            return await self._open_socket(request, protocol, identity)
        except aiohttp.WSServerHandshakeError as error:
            if error.status != 401 or credentials is None:
                raise
            credentials.rejected(identity)
            fresh = await credentials.identity()
            if fresh is identity:
                raise
        return await self._open_socket(request, protocol, fresh)

    async def _open_socket(
        self, request: Request, protocol: str, identity: Identity
    ) -> aiohttp.ClientWebSocketResponse:
        connection = self._connection
        return await self._shared_session().ws_connect(
            connection.server + request.path,
            protocols=[protocol],
            headers=[("User-Agent", self._agent), *identity.headers],
            ssl=identity.ssl or connection.ssl,
            server_hostname=connection.server_name or None,
            proxy=connection.proxy or None,
        )

    def _shared_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.open),
                auto_decompress=True,
            )
        return self._session

    def _open(
        self, request: Request, limits: aiohttp.ClientTimeout, identity: Identity
    ) -> aiohttp.client._RequestContextManager:
        connection = self._connection
        headers = [("User-Agent", self._agent), ("Accept", request.accept), *identity.headers]
        if request.body:
            headers.append(("Content-Type", request.content_type))
        return self._shared_session().request(
            request.method,
            # Joined by hand, because a server behind a gateway has a path of its own.
            connection.server + request.path,
            params=request.params,
            data=request.body or None,
            headers=headers,
            timeout=limits,
            ssl=identity.ssl or connection.ssl,
            server_hostname=connection.server_name or None,
            proxy=connection.proxy or None,
        )

    def _unreachable(self, error: Exception) -> errors.Unreachable:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            cause = getattr(error.certificate_error, "verify_message", str(error))
            return errors.Unreachable(
                f"the certificate of the API server at {self._connection.server} "
                f"is not accepted: {cause}",
                hint="check certificate-authority and tls-server-name in the kubeconfig",
            )
        cause = str(error) or type(error).__name__
        return errors.Unreachable(
            f"the API server at {self._connection.server} does not answer: {cause}",
            hint="check that the server runs and that the address in the kubeconfig is right",
        )


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """A stream that is left early is cut: a polite end would wait for the server's next words."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _refusal(request: Request, status: int) -> errors.ApiError:
    # The handshake hides the body of the answer.
    path = request.path.partition("?")[0]
    message = {"message": f"the API server refuses a conversation at {path} (HTTP {status})"}
    return errors.from_status(status, msgspec.json.encode(message))


def _retry_after(answer: aiohttp.ClientResponse) -> float:
    value = answer.headers.get("Retry-After", "")
    return float(value) if value.isdigit() else 0
