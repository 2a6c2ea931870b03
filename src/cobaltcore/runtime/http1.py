"""HTTP/1.1 with little work per request: one exchange at a time on a kept connection.

A general client spends five times the CPU on a small request (docs/decisions/0003-http.md). This
one does what API servers need: no redirects, no cookies, no compression.
"""

import asyncio
from typing import cast

import httptools

from cobaltcore.runtime.deadline import Deadline

# A reader that is slower than the server makes the server wait, so that memory stays bounded.
HIGH_WATER_BYTES = 1 << 20


class Disconnected(ConnectionError):
    """The connection ended before the answer did."""


class Stale(Disconnected):
    """A connection that had been kept turned out to be closed when it was used again."""


class Connection(asyncio.Protocol):
    """One connection to a server and the answer that comes over it."""

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
        self._deadline = Deadline(self._give_up)
        self._patience = 0.0
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._whole = False
        self._begun = False
        self._sized = False
        self._complete = True
        self._kept = True
        self._exchanges = 0
        self._lost: Exception | None = None

    # --- what a caller does -----------------------------------------------------------------

    @property
    def reusable(self) -> bool:
        """Whether the answer is complete and the server keeps the connection."""
        return self._complete and self._kept and self._lost is None

    def send(self, request: bytes) -> None:
        """Begin an exchange: head and body of a request."""
        self.status = 0
        self.retry_after = 0.0
        self._pieces = []
        self._buffered = 0
        self._whole = self._begun = self._sized = self._complete = False
        self._exchanges += 1
        if self._transport is not None and self._lost is None:
            self._transport.write(request)

    async def head(self, *, within: float) -> None:
        """Wait for the status of the answer."""
        while not self.status:
            await self._wait(within)

    async def body(self, *, within: float) -> bytes:
        """Wait for the whole answer."""
        self._whole = True
        while not self._complete:
            await self._wait(within)
        return b"".join(self._pieces)

    async def piece(self, *, within: float) -> bytes:
        """Wait for the next part of the answer; empty at its end."""
        while not self._pieces and not self._complete:
            await self._wait(within)
        taken, self._pieces, self._buffered = b"".join(self._pieces), [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return taken

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """End the connection politely."""
        if self._transport is not None:
            self._transport.close()

    async def _wait(self, seconds: float) -> None:
        if self._lost is not None:
            raise self._lost
        self._waiter = self._loop.create_future()
        self._patience = seconds
        self._deadline.set(seconds)
        try:
            await self._waiter
        finally:
            self._deadline.lift()
            self._waiter = None

    def _give_up(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            late = TimeoutError(f"no answer within {self._patience:g} seconds")
            self._waiter.set_exception(late)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- what the event loop tells ----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read a part of an answer; what nobody asked for ends the connection."""
        if self._complete:
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._lose(Disconnected(f"the answer is not HTTP/1.1: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; an answer without a length is complete then."""
        if exc is None and self.status and not self._sized:
            self._complete = True
        unused = self._exchanges > 1 and not self.status
        kind = Stale if unused else Disconnected
        self._lose(kind(str(exc) if exc else "the server closed the connection"))
        self._deadline.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def _lose(self, error: Exception) -> None:
        self._lost = self._lost or error
        self._wake()

    # --- what the parser tells --------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins; a second one to the same request is none of ours."""
        if self._begun:
            raise Disconnected("the server answered twice")
        self._begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that matter."""
        match name.lower():
            case b"content-length" | b"transfer-encoding":
                self._sized = True
            case b"retry-after":
                self.retry_after = float(value) if value.isdigit() else 0

    def on_headers_complete(self) -> None:
        """The status is known."""
        self.status = self._parser.get_status_code()
        self._wake()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._pieces.append(body)
        if self._whole:
            return
        self._buffered += len(body)
        if self._buffered > HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """The answer is whole."""
        self._complete = True
        self._kept = self._parser.should_keep_alive()
        self.idle_since = self._loop.time()
        self._wake()
