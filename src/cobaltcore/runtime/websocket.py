"""WebSockets to an API server, on aiohttp.

Imported when the first one is opened: aiohttp takes more memory than all of the client.
"""

import asyncio
import socket
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec

from cobaltcore.runtime import errors, transport
from cobaltcore.runtime.transport import Connection, Identity, Request, Socket

CLOSE_SECONDS = 2


class WebSockets:
    """Opens WebSockets, and waits for all of them to close."""

    def __init__(self, connection: Connection, *, agent: str) -> None:
        self._connection = connection
        self._agent = agent
        self._sockets = _Sockets()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.open)
        )

    @asynccontextmanager
    async def open(self, request: Request, *, protocol: str) -> AsyncIterator[Socket]:
        """Open a WebSocket with a subprotocol; raise ApiError if the server refuses it."""
        server = self._connection.server
        try:
            response = await self._upgrade(request, protocol)
            async with response:
                if response.protocol != protocol:
                    raise errors.Unreachable(
                        f"the API server at {server} does not support "
                        f"the WebSocket protocol {protocol}",
                        hint="Kubernetes 1.30 or newer is required",
                    )
                yield _WebSocket(response)
        except aiohttp.WSServerHandshakeError as error:
            raise _refusal(request, error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise transport.unreachable(server, error) from error

    async def close(self) -> None:
        await self._session.close()
        await self._sockets.all_closed()

    async def _upgrade(self, request: Request, protocol: str) -> aiohttp.ClientWebSocketResponse:
        credentials = self._connection.credentials
        identity = await credentials.identity() if credentials else Identity()
        try:
            return await self._upgrade_as(identity, request, protocol)
        except aiohttp.WSServerHandshakeError as error:
            if error.status != 401 or credentials is None:
                raise
            credentials.rejected(identity)
            fresh = await credentials.identity()
            if fresh is identity:
                raise
        return await self._upgrade_as(fresh, request, protocol)

    async def _upgrade_as(
        self, identity: Identity, request: Request, protocol: str
    ) -> aiohttp.ClientWebSocketResponse:
        connection = self._connection
        return await self._session.ws_connect(
            connection.server + request.path,
            protocols=[protocol],
            headers=[("User-Agent", self._agent), *identity.headers],
            ssl=identity.ssl or connection.ssl or True,
            server_hostname=connection.server_name or None,
            proxy=connection.proxy or None,
        )


class _WebSocket:
    def __init__(self, response: aiohttp.ClientWebSocketResponse) -> None:
        self._response = response

    async def send(self, message: bytes) -> None:
        await self._response.send_bytes(message)

    async def receive(self) -> bytes | None:
        message = await self._response.receive()
        if message.type == aiohttp.WSMsgType.ERROR:
            raise aiohttp.ClientConnectionError(str(message.data))
        return message.data if message.type == aiohttp.WSMsgType.BINARY else None


class _Sockets:
    """The open sockets of all WebSockets.

    A cancelled WebSocket leaves a TLS connection that shuts down in the background.
    """

    def __init__(self) -> None:
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def open(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Create a socket as asyncio does."""
        family, kind, protocol, *_ = address
        created = socket.socket(family, kind, protocol)
        created.setblocking(False)  # noqa: FBT003 not ours to name
        created.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._open.add(created)
        return created

    async def all_closed(self) -> None:
        """Wait for TLS shutdowns; a server that is down does not complete them."""
        end = asyncio.get_running_loop().time() + CLOSE_SECONDS
        while any(each.fileno() != -1 for each in self._open):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(0.005)


def _refusal(request: Request, status: int) -> errors.ApiError:
    # A failed handshake has no response body.
    path = request.path.partition("?")[0]
    message = {"message": f"the API server refused a WebSocket at {path} (HTTP {status})"}
    return errors.from_status(status, msgspec.json.encode(message))
