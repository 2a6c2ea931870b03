import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cobaltcore.runtime import errors, http1
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.transport import Connection, Identity, Request
from tests.support.raw_server import Caller, an_answer, answering, raw_server

GET = Request("GET", "/api/v1/pods")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[HttpTransport]:
    wire = HttpTransport(Connection(url), agent="test")
    try:
        yield wire
    finally:
        await wire.close()


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (an_answer(b"whole"), 200, b"whole"),
        (an_answer(b"gone", status="410 Gone"), 410, b"gone"),
        (CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, b"abcde"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    ],
)
async def test_answers_are_read_to_their_end(answer: bytes, status: int, body: bytes) -> None:
    async with raw_server(answering(answer)) as server, connected(server.url) as wire:
        found = await wire.send(GET)
        again = await wire.send(GET)
    assert (found.status, found.body) == (again.status, again.body) == (status, body)
    assert server.connections == 1


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(b"HTTP/1.0 400 Bad Request\r\n\r\nthis port speaks TLS")

    async with raw_server(behave) as server, connected(server.url) as wire:
        found = await wire.send(GET)
    assert (found.status, found.body) == (400, b"this port speaks TLS")


@pytest.mark.parametrize(
    "part", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", CHUNKED + b"9\r\nhalf"]
)
async def test_half_an_answer_is_none(part: bytes) -> None:
    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(part)

    async with raw_server(behave) as server, connected(server.url) as wire:
        with pytest.raises(errors.Unreachable, match="closed the connection"):
            await wire.send(GET)


async def test_a_server_of_another_protocol_is_named_so() -> None:
    mail = answering(b"220 mail ready\r\n")
    async with raw_server(mail) as server, connected(server.url) as wire:
        with pytest.raises(errors.Unreachable, match=r"is not HTTP/1.1"):
            await wire.send(GET)


async def test_retry_after_is_parsed() -> None:
    busy = an_answer(status="429 Too Many Requests", headers="Retry-After: 7\r\n")
    async with raw_server(answering(busy, an_answer())) as server, connected(server.url) as wire:
        assert (await wire.send(GET)).retry_after == 7
        assert (await wire.send(GET)).retry_after == 0


async def test_a_request_carries_path_query_identity_and_body() -> None:
    heads: list[str] = []
    request = Request(
        "PATCH", "/a b/c:d", {"labelSelector": "x in (1,2)"}, b"body", "text/x", "text/y"
    )
    recording = answering(an_answer(), heads=heads)
    async with raw_server(recording) as server, connected(f"{server.url}/prefix") as wire:
        await wire.send(request)
    lines = heads[0].splitlines()
    assert lines[0] == "PATCH /prefix/a%20b/c:d?labelSelector=x%20in%20%281%2C2%29 HTTP/1.1"
    assert {
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: test",
        "Accept: text/y",
        "Content-Type: text/x",
        "Content-Length: 4",
    } <= set(lines)


class _Token:
    def __init__(self, token: str) -> None:
        self._identity = Identity((("Authorization", f"Bearer {token}"),))

    async def identity(self) -> Identity:
        return self._identity

    def rejected(self, identity: Identity) -> None:
        assert identity is self._identity


async def test_a_line_break_in_a_token_is_refused() -> None:
    connection = Connection("http://127.0.0.1:1", credentials=_Token("a\r\nX-Evil: yes"))
    wire = HttpTransport(connection, agent="test")
    with pytest.raises(errors.ConfigError, match="line break") as raised:
        await wire.send(GET)
    assert "Evil" not in str(raised.value)


async def test_pieces_of_a_stream_come_as_they_arrive() -> None:
    asked = asyncio.Event()

    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(CHUNKED + b"1\r\na\r\n")
        await asked.wait()
        caller.say(b"1\r\nb\r\n0\r\n\r\n")
        await answering(an_answer())(caller)

    async with raw_server(behave) as server, connected(server.url) as wire:
        async with wire.stream(GET, idle_timeout=30) as pieces:
            assert await anext(pieces) == b"a"
            asked.set()
            assert [piece async for piece in pieces] == [b"b"]
        await wire.send(GET)
        assert server.connections == 1


async def test_a_stream_that_is_left_early_is_cut() -> None:
    cut = asyncio.Event()

    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(CHUNKED + b"1\r\na\r\n")
        await caller.request()
        cut.set()

    async with raw_server(behave) as server, connected(server.url) as wire:
        async with wire.stream(GET, idle_timeout=30) as pieces:
            await anext(pieces)
        await asyncio.wait_for(cut.wait(), 30)


async def test_a_silent_stream_is_unreachable() -> None:
    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(CHUNKED)
        await caller.request()

    async with raw_server(behave) as server, connected(server.url) as wire:
        with pytest.raises(errors.Unreachable, match="no response within"):
            async with wire.stream(GET, idle_timeout=0.05) as pieces:
                await anext(pieces)


async def test_a_refused_stream_reports_why() -> None:
    gone = an_answer(b'{"reason": "Expired", "message": "too old"}', status="410 Gone")
    async with raw_server(answering(gone)) as server, connected(server.url) as wire:
        with pytest.raises(errors.Gone, match="too old"):
            async with wire.stream(GET, idle_timeout=30):
                pass


async def test_a_slow_reader_makes_the_server_wait() -> None:
    size = 64 * http1.HIGH_WATER_BYTES
    sent = 0

    async def behave(caller: Caller) -> None:
        nonlocal sent
        await caller.request()
        caller.say(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        while sent < size:
            caller.say(bytes(65536))
            await caller.writer.drain()
            sent += 65536
        await caller.request()

    async with (
        raw_server(behave) as server,
        connected(server.url) as wire,
        wire.stream(GET, idle_timeout=30) as pieces,
    ):
        received = len(await anext(pieces))
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < size
        async for piece in pieces:
            received += len(piece)
    assert received == size
