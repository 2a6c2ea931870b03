"""Persistent connections to one server, through a proxy if one is configured."""

import asyncio
import base64
import socket
from dataclasses import dataclass
from ssl import SSLContext, create_default_context
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from cobaltcore.runtime.http1 import Connection, Disconnected

CONNECT_SECONDS = 5
# Servers close connections that are idle for longer, and a broken network may drop them silently.
IDLE_SECONDS = 60
CLOSE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Server:
    """Where to connect to, and whose certificate to expect there."""

    host: str
    port: int
    certificate_name: str
    proxy: SplitResult | None = None

    @classmethod
    def parse(cls, url: str, *, certificate_name: str = "", proxy: str = "") -> Self:
        """Parse the URLs of a server and its proxy."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return cls(host, port, certificate_name or host, urlsplit(proxy) if proxy else None)


class Pool:
    """Hands out connections, each to one caller at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._open: dict[Connection, SSLContext | None] = {}
        self._idle: list[Connection] = []

    def idle(self, tls: SSLContext | None) -> Connection | None:
        """An idle connection with these TLS settings, or None; release it in any case."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            idle = now - connection.idle_since
            if connection.reusable and self._open[connection] is tls and idle < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def connect(self, tls: SSLContext | None) -> Connection:
        """A new connection with these TLS settings; release it in any case."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await self._connect(tls)
        except TimeoutError as error:
            raise TimeoutError(f"no connection within {CONNECT_SECONDS} seconds") from error
        self._open[connection] = tls
        connection.closed.add_done_callback(lambda _: self._forget(connection))
        return connection

    def release(self, connection: Connection) -> None:
        """Keep a connection whose response was read to its end; abort any other."""
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.abort()

    async def close(self) -> None:
        """Close all connections."""
        closing = list(self._open)
        for connection in closing:
            connection.close()
        if closing:
            await asyncio.wait([each.closed for each in closing], timeout=CLOSE_SECONDS)
        for connection in list(self._open):
            connection.abort()

    def _forget(self, connection: Connection) -> None:
        del self._open[connection]
        if connection in self._idle:
            self._idle.remove(connection)

    async def _connect(self, tls: SSLContext | None) -> Connection:
        server, loop = self._server, asyncio.get_running_loop()
        name = server.certificate_name if tls else None
        if server.proxy is None:
            transport, connection = await loop.create_connection(
                Connection, server.host, server.port, ssl=tls, server_hostname=name
            )
            _keep_alive(transport)
            return connection
        tunnel = await _tunnel(server.proxy, server)
        _keep_alive(tunnel)
        connection = Connection()
        if tls is None:
            tunnel.set_protocol(connection)
            connection.connection_made(tunnel)
            return connection
        secured = await loop.start_tls(tunnel, connection, tls, server_hostname=name)
        if secured is None:
            raise Disconnected("the proxy closed the connection")
        connection.connection_made(secured)
        return connection


async def _tunnel(proxy: SplitResult, server: Server) -> asyncio.Transport:
    """Open a CONNECT tunnel through a proxy."""
    secure = proxy.scheme == "https"
    transport, connection = await asyncio.get_running_loop().create_connection(
        Connection,
        proxy.hostname or "",
        proxy.port or (443 if secure else 80),
        ssl=create_default_context() if secure else None,
    )
    host = f"[{server.host}]" if ":" in server.host else server.host
    lines = [f"CONNECT {host}:{server.port} HTTP/1.1", f"Host: {host}:{server.port}"]
    if proxy.username:
        account = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(account.encode()).decode()}")
    connection.send("\r\n".join([*lines, "", ""]).encode())
    await connection.head(within=CONNECT_SECONDS)
    if connection.status != 200:
        connection.abort()
        raise Disconnected(f"the proxy {proxy.hostname} responded with {connection.status}")
    return transport


def _keep_alive(transport: asyncio.Transport) -> None:
    """Let the kernel detect a peer that is down."""
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
