import asyncio

import pytest

from cobaltcore.runtime import errors
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.transport import Connection, Request
from tests.support.raw_server import Caller, an_answer, answering, raw_server

GET = Request("GET", "/api/v1/pods")


async def test_requests_go_through_a_tunnel_of_the_proxy() -> None:
    asked: list[str] = []

    async def proxy(caller: Caller) -> None:
        head, _ = await caller.request()
        asked.append(head)
        caller.say(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await answering(an_answer(b"far"))(caller)

    async with raw_server(proxy) as server:
        url = f"http://jane:s%40crt@127.0.0.1:{server.port}"
        wire = HttpTransport(Connection("http://far.example:6443", proxy=url), agent="test")
        bodies = [(await wire.send(GET)).body for _ in range(2)]
        await wire.close()
    assert bodies == [b"far", b"far"]
    (head,) = asked
    assert head.startswith("CONNECT far.example:6443 HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic amFuZTpzQGNydA==\r\n" in head


async def test_an_error_of_the_proxy_is_reported() -> None:
    refusal = an_answer(status="407 Proxy Authentication Required")
    async with raw_server(answering(refusal)) as server:
        connection = Connection("https://far.example", proxy=server.url)
        wire = HttpTransport(connection, agent="test")
        with pytest.raises(errors.Unreachable, match=r"the proxy 127.0.0.1 responded with 407"):
            await asyncio.wait_for(wire.send(GET), 30)
        await wire.close()
