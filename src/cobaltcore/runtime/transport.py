"""The one seam to the network: a request in, bytes out. Tests put faults in between here."""

import asyncio
import os
import re
import socket
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ssl import SSLCertVerificationError, SSLContext, create_default_context
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
import msgspec

from cobaltcore.runtime import errors, http1
from cobaltcore.runtime.pool import Pool, Server

Headers = tuple[tuple[str, str], ...]

_PATH_CHARACTERS = "/:@!$&'()*+,;=-._~%?"
_PLAIN_PATH = re.compile(r"[\w/:.-]*", re.ASCII)


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
    ssl: SSLContext | None = None
    """Settings for an https server; without them the system's authorities count."""
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


@lru_cache(maxsize=256)
def _query(params: tuple[tuple[str, str], ...]) -> str:
    """Parameters as they go into a URL; a controller sends the same few over and over."""
    return "?" + urlencode(params, quote_via=quote)


class HttpTransport:
    """Transport over kept connections; WebSockets are left to aiohttp."""

    def __init__(self, connection: Connection, *, agent: str, request_timeout: float = 30) -> None:
        self._connection = connection
        self._agent = agent
        self._timeout = request_timeout
        self._path = urlsplit(connection.server).path
        self._tls = _tls(connection)
        self._pool = Pool(
            Server.parse(
                connection.server,
                certificate_name=connection.server_name,
                proxy=connection.proxy,
            )
        )
        self._head: tuple[Identity, bytes] | None = None
        self._session: aiohttp.ClientSession | None = None
        self._sockets = _Sockets()

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        try:
            answer = await self._ask(request, within=self._timeout)
            try:
                body = await answer.body(within=self._timeout)
                return Response(answer.status, body, answer.retry_after)
            finally:
                self._pool.give_back(answer)
        except (TimeoutError, OSError) as error:
            raise self._unreachable(error) from error

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a request whose answer comes in pieces, none later than `idle_timeout` seconds."""
        try:
            answer = await self._ask(request, within=idle_timeout)
            try:
                if answer.status >= 400:
                    body = await answer.body(within=self._timeout)
                    raise errors.from_status(answer.status, body, retry_after=answer.retry_after)
                yield _pieces(answer, within=idle_timeout)
            finally:
                self._pool.give_back(answer)
        except (TimeoutError, OSError) as error:
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
        await self._pool.close()
        if self._session is not None:
            await self._session.close()
            await self._sockets.all_closed()

    async def _ask(self, request: Request, *, within: float) -> http1.Connection:
        """Send a request and wait for the status; with newer credentials if these are refused."""
        credentials = self._connection.credentials
        identity = await credentials.identity() if credentials else _ANONYMOUS
        answer = await self._ask_as(identity, request, within)
        if answer.status != 401 or credentials is None:
            return answer
        credentials.rejected(identity)
        try:
            fresh = await credentials.identity()
        except BaseException:
            self._pool.give_back(answer)
            raise
        if fresh is identity:
            return answer
        self._pool.give_back(answer)
        return await self._ask_as(fresh, request, within)

    async def _ask_as(
        self, identity: Identity, request: Request, within: float
    ) -> http1.Connection:
        tls = (identity.ssl or self._tls) if self._tls else None
        written = self._written(identity, request)
        kept = self._pool.kept(tls)
        if kept is not None:
            try:
                await self._begin(kept, written, within)
            except http1.Stale:
                # The server may have carried out a write before it closed the connection.
                if request.method != "GET":
                    raise
            else:
                return kept
        new = await self._pool.connect(tls)
        await self._begin(new, written, within)
        return new

    async def _begin(self, answer: http1.Connection, written: bytes, within: float) -> None:
        answer.send(written)
        try:
            await answer.head(within=within)
        except BaseException:
            self._pool.give_back(answer)
            raise

    def _written(self, identity: Identity, request: Request) -> bytes:
        """A request as it goes over the wire."""
        if self._head is None or self._head[0] is not identity:
            self._head = (identity, self._common_headers(identity))
        target = self._path + request.path
        if not _PLAIN_PATH.fullmatch(target):
            target = quote(target, safe=_PATH_CHARACTERS)
        if request.params:
            target += _query(tuple(request.params.items()))
        line = f"{request.method} {target} HTTP/1.1\r\nAccept: {request.accept}\r\n".encode()
        if not request.body:
            return b"%b%b\r\n" % (line, self._head[1])
        return b"%b%bContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
            line,
            self._head[1],
            request.content_type.encode(),
            len(request.body),
            request.body,
        )

    def _common_headers(self, identity: Identity) -> bytes:
        host = urlsplit(self._connection.server).netloc
        headers = (("Host", host), ("User-Agent", self._agent), *identity.headers)
        if any(character in value for _, value in headers for character in "\r\n"):
            raise errors.ConfigError(
                f"the credentials for {self._connection.server} hold a line break",
                hint="check the token or the user to impersonate in the kubeconfig",
            )
        return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")

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
            ssl=identity.ssl or self._tls or True,
            server_hostname=connection.server_name or None,
            proxy=connection.proxy or None,
        )

    def _shared_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.open)
            )
        return self._session

    def _unreachable(self, error: Exception) -> errors.Unreachable:
        refused = getattr(error, "certificate_error", error)
        if isinstance(refused, SSLCertVerificationError):
            cause = refused.verify_message or str(refused)
            return errors.Unreachable(
                f"the certificate of the API server at {self._connection.server} "
                f"is not accepted: {cause}",
                hint="check certificate-authority and tls-server-name in the kubeconfig",
            )
        return errors.Unreachable(
            f"the API server at {self._connection.server} does not answer: {_cause(error)}",
            hint="check that the server runs and that the address in the kubeconfig is right",
        )


async def _pieces(answer: http1.Connection, *, within: float) -> AsyncIterator[bytes]:
    while piece := await answer.piece(within=within):
        yield piece


def _tls(connection: Connection) -> SSLContext | None:
    if not connection.server.startswith("https:"):
        return None
    return connection.ssl or create_default_context()


def _cause(error: Exception) -> str:
    # The event loop's own words for a refused connection hold an address and no reason.
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__


def _refusal(request: Request, status: int) -> errors.ApiError:
    # The handshake hides the body of the answer.
    path = request.path.partition("?")[0]
    message = {"message": f"the API server refuses a conversation at {path} (HTTP {status})"}
    return errors.from_status(status, msgspec.json.encode(message))
