import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cobaltcore.runtime import errors
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.transport import Connection, Request
from tests.support.raw_server import Caller, an_answer, answering, raw_server

GET = Request("GET", "/api/v1/pods")
PATCH = Request("PATCH", "/api/v1/pods/one", body=b"{}")


@asynccontextmanager
async def connected(url: str, **options: float) -> AsyncIterator[HttpTransport]:
    wire = HttpTransport(Connection(url), agent="test", **options)
    try:
        yield wire
    finally:
        await wire.close()


async def test_one_connection_serves_requests_one_after_the_other() -> None:
    async with raw_server(answering(an_answer(b"1"), an_answer(b"2"))) as server:
        async with connected(server.url) as wire:
            bodies = [(await wire.send(GET)).body for _ in range(2)]
        assert bodies == [b"1", b"2"]
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    async with raw_server(answering(an_answer())) as server, connected(server.url) as wire:
        await asyncio.gather(*(wire.send(GET) for _ in range(3)))
        assert server.connections == 3
        await asyncio.gather(*(wire.send(GET) for _ in range(3)))
        assert server.connections == 3


async def test_a_connection_that_the_server_will_close_is_not_used_again() -> None:
    answer = an_answer(headers="Connection: close\r\n")
    async with raw_server(answering(answer)) as server, connected(server.url) as wire:
        await wire.send(GET)
        await wire.send(GET)
        assert server.connections == 2


async def _answers_once_then_hangs_up_on_the_next(caller: Caller) -> None:
    await caller.request()
    caller.say(an_answer())
    if caller.number == 1:
        await caller.request()
        return
    await caller.request()


async def test_a_read_over_a_connection_closed_meanwhile_is_sent_again() -> None:
    async with (
        raw_server(_answers_once_then_hangs_up_on_the_next) as server,
        connected(server.url) as wire,
    ):
        await wire.send(GET)
        assert (await wire.send(GET)).status == 200
        assert server.connections == 2


async def test_a_write_over_a_connection_closed_meanwhile_is_not_sent_again() -> None:
    async with (
        raw_server(_answers_once_then_hangs_up_on_the_next) as server,
        connected(server.url) as wire,
    ):
        await wire.send(GET)
        with pytest.raises(errors.Unreachable, match="is unreachable"):
            await wire.send(PATCH)
        assert server.connections == 1


async def test_a_connection_that_was_closed_at_rest_is_replaced() -> None:
    closed = asyncio.Event()

    async def behave(caller: Caller) -> None:
        await caller.request()
        caller.say(an_answer())
        if caller.number == 1:
            caller.writer.close()
            await caller.writer.wait_closed()
            closed.set()
        else:
            await caller.request()

    async with raw_server(behave) as server, connected(server.url) as wire:
        await wire.send(PATCH)
        await closed.wait()
        while wire._pool._idle:
            await asyncio.sleep(0)
        assert (await wire.send(PATCH)).status == 200


async def test_a_cancelled_request_does_not_leave_its_answer_to_the_next() -> None:
    asked = asyncio.Event()

    async def behave(caller: Caller) -> None:
        await caller.request()
        if caller.number == 1:
            asked.set()
            await caller.request()
            return
        caller.say(an_answer(b"mine"))
        await caller.request()

    async with raw_server(behave) as server, connected(server.url) as wire:
        first = asyncio.ensure_future(wire.send(GET))
        await asked.wait()
        first.cancel()
        await asyncio.wait({first})
        assert (await wire.send(GET)).body == b"mine"
        assert server.connections == 2


async def test_words_that_nobody_asked_for_end_the_connection() -> None:
    async def behave(caller: Caller) -> None:
        await caller.request()
        more = an_answer(b"surprise") if caller.number == 1 else b""
        caller.say(an_answer(b"%d" % caller.number) + more)
        await caller.request()

    async with raw_server(behave) as server, connected(server.url) as wire:
        assert [(await wire.send(GET)).body for _ in range(2)] == [b"1", b"2"]


async def test_a_silent_server_is_unreachable_after_the_timeout() -> None:
    async def behave(caller: Caller) -> None:
        await caller.request()
        await caller.request()

    async with raw_server(behave) as server, connected(server.url, request_timeout=0.05) as wire:
        with pytest.raises(errors.Unreachable, match=r"no response within 0.05 seconds"):
            await wire.send(GET)


async def test_nobody_at_the_address_is_unreachable() -> None:
    async with raw_server(answering(an_answer())) as server:
        url = server.url
    async with connected(url) as wire:
        with pytest.raises(errors.Unreachable, match=f"{url} is unreachable: Connection refused"):
            await wire.send(GET)
