"""HTTP/1.1 with little CPU per request: one request at a time on a persistent connection.

A general client spends five times the CPU on a small request (docs/decisions/0003-http.md). This
one does what API servers need: no redirects, no cookies, no compression.
"""

import asyncio
from typing import cast

import httptools

from cobaltcore.runtime.deadline import Deadline

# Beyond this, reading pauses until the caller catches up, so that memory stays bounded.
HIGH_WATER_BYTES = 1 << 20


class Disconnected(ConnectionError):
    """The connection was closed before the response was complete."""


class Stale(Disconnected):
    """A persistent connection turned out to be closed when it was reused."""


class Connection(asyncio.Protocol):
    """One connection to a server and the response that arrives on it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.status = 0
        self.retry_after = 0.0
        self.closed: asyncio.Future[None] = loop.create_future()
        self.idle_since = loop.time()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = Deadline(self._time_out)
        self._timeout = 0.0
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._read_whole = False
        self._started = False
        self._has_length = False
        self._complete = True
        self._keep_alive = True
        self._requests = 0
        self._lost: Exception | None = None

    # --- for callers ------------------------------------------------------------------------

    @property
    def reusable(self) -> bool:
        """Whether the response is complete and the server keeps the connection open."""
        return self._complete and self._keep_alive and self._lost is None

    def send(self, request: bytes) -> None:
        """Send head and body of a request."""
        self.status = 0
        self.retry_after = 0.0
        self._chunks = []
        self._buffered = 0
        self._read_whole = self._started = self._has_length = self._complete = False
        self._requests += 1
        if self._transport is not None and self._lost is None:
            self._transport.write(request)

    async def head(self, *, within: float) -> None:
        """Wait for the status of the response."""
        while not self.status:
            await self._wait(within)

    async def body(self, *, within: float) -> bytes:
        """Wait for the whole response."""
        self._read_whole = True
        while not self._complete:
            await self._wait(within)
        return b"".join(self._chunks)

    async def chunk(self, *, within: float) -> bytes:
        """Wait for the next part of the response; empty at its end."""
        while not self._chunks and not self._complete:
            await self._wait(within)
        taken, self._chunks, self._buffered = b"".join(self._chunks), [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return taken

    def abort(self) -> None:
        """Close the connection at once, without a TLS shutdown."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection, with a TLS shutdown."""
        if self._transport is not None:
            self._transport.close()

    async def _wait(self, seconds: float) -> None:
        if self._lost is not None:
            raise self._lost
        self._waiter = self._loop.create_future()
        self._timeout = seconds
        self._deadline.set(seconds)
        try:
            await self._waiter
        finally:
            self._deadline.clear()
            self._waiter = None

    def _time_out(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            late = TimeoutError(f"no response within {self._timeout:g} seconds")
            self._waiter.set_exception(late)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- callbacks of the event loop --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a response; unsolicited data closes the connection."""
        if self._complete:
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._lose(Disconnected(f"the response is not HTTP/1.1: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what waits; a response without a length is complete now."""
        if exc is None and self.status and not self._has_length:
            self._complete = True
        unused = self._requests > 1 and not self.status
        kind = Stale if unused else Disconnected
        self._lose(kind(str(exc) if exc else "the server closed the connection"))
        self._deadline.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def _lose(self, error: Exception) -> None:
        self._lost = self._lost or error
        self._wake()

    # --- callbacks of the parser ------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._started:
            raise Disconnected("the server sent two responses to one request")
        self._started = True

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-length" | b"transfer-encoding":
                self._has_length = True
            case b"retry-after":
                self.retry_after = float(value) if value.isdigit() else 0

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._wake()

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        if self._read_whole:
            return
        self._buffered += len(body)
        if self._buffered > HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        self._complete = True
        self._keep_alive = self._parser.should_keep_alive()
        self.idle_since = self._loop.time()
        self._wake()
