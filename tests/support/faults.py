"""A transport that misbehaves as real networks and servers do.

Rules are asked in order for every request; the first that answers decides. `Crash` is no Exception:
nothing catches it, as the end of a process would.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cobaltcore.runtime import errors
from cobaltcore.runtime.transport import Request, Response, Socket, Transport

When = Literal["before", "after"]


class Crash(BaseException):
    """The process dies here."""


@dataclass(slots=True)
class Fault:
    """One way to misbehave, for the requests that `match` and while `times` lasts."""

    match: Callable[[Request], bool] = lambda request: True
    times: int = 1
    status: int = 0
    """Answer with this HTTP status instead of the server's answer."""
    retry_after: float = 0
    reset: When | None = None
    """Lose the connection before the request arrives, or after it was carried out."""
    delay: float = 0
    gone: bool = False
    """End a watch with 410."""

    def applies(self, request: Request) -> bool:
        """Whether this fault meets the request; counts down."""
        if self.times <= 0 or not self.match(request):
            return False
        self.times -= 1
        return True


@dataclass(slots=True)
class StreamFaults:
    """What happens to watches while they run."""

    cut_after: float = 0
    """Seconds after which a watch breaks."""
    duplicate: bool = False
    """Every event arrives twice."""
    late: float = 0
    """Seconds by which every event is late."""


@dataclass(slots=True)
class CrashPoint:
    """Die at the n-th call that matches, before it is sent or after it was carried out."""

    call: int = 0
    when: When = "before"
    match: Callable[[Request], bool] = lambda request: True


def is_watch(request: Request) -> bool:
    """Whether a request opens a watch."""
    return request.params.get("watch") == "1"


def is_write(request: Request) -> bool:
    """Whether a request changes something."""
    return request.method != "GET"


@dataclass(slots=True)
class FaultTransport:
    """Passes requests on, or does to them what its faults say."""

    inner: Transport
    faults: list[Fault] = field(default_factory=list)
    streams: StreamFaults = field(default_factory=StreamFaults)
    crash: CrashPoint = field(default_factory=CrashPoint)
    doom: Callable[[Request], When | None] = lambda request: None
    """Asked for every call: whether to die at it, for tests that choose as they go."""
    calls: list[Request] = field(default_factory=list)
    sent: list[Request] = field(default_factory=list)
    """The calls that went on to the server, whether or not their answers were heard."""
    matched: int = 0
    crashed: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, request: Request) -> Response:
        """Send a request, unless a fault meets it."""
        dies = self._count(request)
        if dies == "before":
            self._die()
        fault = next((f for f in self.faults if f.applies(request)), Fault())
        await asyncio.sleep(fault.delay)
        if fault.reset == "before":
            raise errors.Unreachable("connection reset by a fault before the request")
        if fault.status:
            return Response(fault.status, _status_body(fault.status), fault.retry_after)
        self.sent.append(request)
        response = await self.inner.send(request)
        if dies == "after":
            self._die()
        if fault.reset == "after":
            raise errors.Unreachable("connection reset by a fault after the request")
        return response

    def stream(
        self, request: Request, *, idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch, unless a fault meets it."""
        return self._stream(request, idle_timeout)

    @asynccontextmanager
    async def websocket(self, request: Request, *, protocol: str) -> AsyncIterator[Socket]:
        """Open a WebSocket, unless a crash comes before it or after its last message."""
        dies = self._count(request)
        if dies == "before":
            self._die()
        async with self.inner.websocket(request, protocol=protocol) as socket:
            yield socket
        if dies == "after":
            self._die()

    async def close(self) -> None:
        """Give up all connections."""
        await self.inner.close()

    @asynccontextmanager
    async def _stream(
        self, request: Request, idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self._count(request):
            self._die()
        fault = next((f for f in self.faults if f.applies(request)), Fault())
        if fault.status:
            raise errors.from_status(fault.status, _status_body(fault.status))
        if fault.reset:
            raise errors.Unreachable("connection reset by a fault")
        if fault.gone:
            yield _once(b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n')
            return
        async with self.inner.stream(request, idle_timeout=idle_timeout) as chunks:
            yield self._disturbed(chunks)

    async def _disturbed(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Whole lines, so that repeating and delaying them makes sense."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.streams.cut_after if self.streams.cut_after else float("inf")
        rest = b""
        try:
            async with asyncio.timeout_at(end if end != float("inf") else None):
                async for chunk in chunks:
                    lines, separator, rest = (rest + chunk).rpartition(b"\n")
                    if not separator:
                        continue
                    await asyncio.sleep(self.streams.late)
                    data = lines + separator
                    yield data + data if self.streams.duplicate else data
        except TimeoutError as error:
            raise errors.Unreachable("watch cut by a fault") from error

    def _count(self, request: Request) -> When | None:
        if self.crashed.is_set():
            raise Crash
        self.calls.append(request)
        if self.crash.match(request):
            self.matched += 1
            if self.matched == self.crash.call:
                return self.crash.when
        return self.doom(request)

    def _die(self) -> None:
        self.crashed.set()
        raise Crash


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _status_body(status: int) -> bytes:
    reasons = {404: "NotFound", 409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}
    reason = reasons.get(status, "Fault")
    return msgspec.json.encode({"reason": reason, "message": f"injected {status}"})
