"""The transport over HTTP/1.1, with persistent connections."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from ssl import SSLContext, create_default_context
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

from cobaltcore.runtime import errors, http1, transport
from cobaltcore.runtime.pool import Pool, Server
from cobaltcore.runtime.transport import Connection, Identity, Request, Response, Socket

if TYPE_CHECKING:
    from cobaltcore.runtime.websocket import WebSockets

_PATH_CHARACTERS = "/:@!$&'()*+,;=-._~%?"
_PLAIN_PATH = re.compile(r"[\w/:.-]*", re.ASCII)


_ANONYMOUS = Identity()


@lru_cache(maxsize=256)
def _query(params: tuple[tuple[str, str], ...]) -> str:
    """Parameters as they appear in a URL; a controller sends the same few again and again."""
    return "?" + urlencode(params, quote_via=quote)


class HttpTransport:
    """Transport over persistent connections; those of WebSockets are separate."""

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
        self._websockets: WebSockets | None = None

    async def send(self, request: Request) -> Response:
        try:
            response = await self._request(request, within=self._timeout)
            try:
                body = await response.body(within=self._timeout)
                return Response(response.status, body, response.retry_after)
            finally:
                self._pool.release(response)
        except (TimeoutError, OSError) as error:
            raise transport.unreachable(self._connection.server, error) from error

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the chunks of a response, which may be `idle_timeout` seconds apart."""
        try:
            response = await self._request(request, within=idle_timeout)
            try:
                if response.status >= 400:
                    body = await response.body(within=self._timeout)
                    raise errors.from_status(
                        response.status, body, retry_after=response.retry_after
                    )
                yield _chunks(response, within=idle_timeout)
            finally:
                self._pool.release(response)
        except (TimeoutError, OSError) as error:
            raise transport.unreachable(self._connection.server, error) from error

    @asynccontextmanager
    async def websocket(self, request: Request, *, protocol: str) -> AsyncIterator[Socket]:
        if self._websockets is None:
            from cobaltcore.runtime.websocket import WebSockets

            self._websockets = WebSockets(self._connection, agent=self._agent)
        async with self._websockets.open(request, protocol=protocol) as socket:
            yield socket

    async def close(self) -> None:
        await self._pool.close()
        if self._websockets is not None:
            await self._websockets.close()

    async def _request(self, request: Request, *, within: float) -> http1.Connection:
        """Send a request and wait for the status; once more with renewed credentials after 401."""
        credentials = self._connection.credentials
        identity = await credentials.identity() if credentials else _ANONYMOUS
        response = await self._request_as(identity, request, within)
        if response.status != 401 or credentials is None:
            return response
        credentials.rejected(identity)
        try:
            fresh = await credentials.identity()
        except BaseException:
            self._pool.release(response)
            raise
        if fresh is identity:
            return response
        self._pool.release(response)
        return await self._request_as(fresh, request, within)

    async def _request_as(
        self, identity: Identity, request: Request, within: float
    ) -> http1.Connection:
        tls = (identity.ssl or self._tls) if self._tls else None
        encoded = self._encode(identity, request)
        idle = self._pool.idle(tls)
        if idle is not None:
            try:
                await self._exchange(idle, encoded, within)
            except http1.Stale:
                # The server may have carried out a write before it closed the connection.
                if request.method != "GET":
                    raise
            else:
                return idle
        new = await self._pool.connect(tls)
        await self._exchange(new, encoded, within)
        return new

    async def _exchange(self, connection: http1.Connection, encoded: bytes, within: float) -> None:
        connection.send(encoded)
        try:
            await connection.head(within=within)
        except BaseException:
            self._pool.release(connection)
            raise

    def _encode(self, identity: Identity, request: Request) -> bytes:
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
                f"the credentials for {self._connection.server} contain a line break",
                hint="check the token or the user to impersonate in the kubeconfig",
            )
        return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


async def _chunks(response: http1.Connection, *, within: float) -> AsyncIterator[bytes]:
    while chunk := await response.chunk(within=within):
        yield chunk


def _tls(connection: Connection) -> SSLContext | None:
    if not connection.server.startswith("https:"):
        return None
    return connection.ssl or create_default_context()
