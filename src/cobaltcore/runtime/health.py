"""Liveness, readiness and metrics over HTTP.

One response per connection and nothing but GET: a general HTTP server takes more memory than all
controllers of a small operator.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from cobaltcore.runtime import errors
from cobaltcore.runtime.metrics import REGISTRY

Check = Callable[[], bool]

REQUEST_SECONDS = 5
HEAD_LIMIT_BYTES = 16 * 1024


class _Response(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"

    def encode(self) -> bytes:
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
            f"Content-Type: {self.content_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + self.body


class HealthServer:
    """Serves /healthz, /readyz and /metrics."""

    def __init__(self, *, host: str, port: int, ready: Check) -> None:
        self._host = host
        self._port = port
        self._ready = ready
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The listening port, also if 0 was configured."""
        if self._server is None or not self._server.sockets:
            return self._port
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen; raise ConfigError if that is impossible."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._host, self._port, limit=HEAD_LIMIT_BYTES
            )
        except OSError as error:
            raise errors.ConfigError(
                f"the health server cannot listen on {self._host} port {self._port}: "
                f"{error.strerror}",
                hint="stop the process that uses the port, or choose another with --health-port",
            ) from error

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head).encode())
                await writer.drain()
        except (TimeoutError, EOFError, asyncio.LimitOverrunError, ConnectionError):
            return
        finally:
            writer.close()

    def _respond(self, head: bytes) -> _Response:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return _Response(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET is supported")
        respond = {b"/healthz": _ok, b"/readyz": self._readiness, b"/metrics": _metrics}.get(path)
        return respond() if respond else _Response(HTTPStatus.NOT_FOUND, b"not found")

    def _readiness(self) -> _Response:
        if self._ready():
            return _ok()
        return _Response(HTTPStatus.SERVICE_UNAVAILABLE, b"informer caches are not synced yet")


def _ok() -> _Response:
    return _Response(HTTPStatus.OK, b"ok")


def _metrics() -> _Response:
    return _Response(HTTPStatus.OK, generate_latest(REGISTRY), CONTENT_TYPE_LATEST)
