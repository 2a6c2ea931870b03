"""A server on loopback that sends exactly the bytes that a test asks for."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass


def an_answer(body: bytes = b"{}", *, status: str = "200 OK", headers: str = "") -> bytes:
    """An answer of known length."""
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Caller:
    """One connection as the server sees it."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> tuple[str, bytes]:
        """Head and body of the next request; an empty head at the end."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return "", b""
        sizes = [line for line in head.splitlines() if line.lower().startswith("content-length:")]
        size = int(sizes[0].partition(":")[2]) if sizes else 0
        return head, await self.reader.readexactly(size)

    def say(self, words: bytes) -> None:
        self.writer.write(words)


Behaviour = Callable[[Caller], Awaitable[None]]


@dataclass
class RawServer:
    """What the server was asked."""

    url: str
    port: int
    connections: int = 0


@asynccontextmanager
async def raw_server(behaviour: Behaviour) -> AsyncIterator[RawServer]:
    """Serve every connection with `behaviour`; closes it when that returns."""
    found = RawServer("", 0)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        found.connections += 1
        with suppress(ConnectionError, asyncio.CancelledError):
            await behaviour(Caller(found.connections, reader, writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    found.url = f"http://127.0.0.1:{found.port}"
    try:
        yield found
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def answering(*answers: bytes, heads: list[str] | None = None) -> Behaviour:
    """Give one answer per request, the last one again and again."""

    async def behave(caller: Caller) -> None:
        waiting = list(answers)
        while True:
            head, _ = await caller.request()
            if not head:
                return
            if heads is not None:
                heads.append(head)
            caller.say(waiting.pop(0) if len(waiting) > 1 else waiting[0])

    return behave
