import asyncio
from datetime import timedelta

import msgspec
import pytest
from aiohttp import web

from cobaltcore.openstack import catalog, errors
from cobaltcore.openstack.cloud import TIMEOUT
from cobaltcore.openstack.service import Service
from tests.support.openstack_peer import Peer
from tests.support.openstack_sessions import a_session

SERVERS = "/compute/v2.1/servers"


class Server(msgspec.Struct):
    id: str
    status: str = ""


def compute(cloud: Peer, timeout: timedelta = TIMEOUT) -> Service:
    return a_session(cloud, timeout=timeout).service(catalog.COMPUTE)


async def servers(service: Service) -> list[Server]:
    return await service.list("/servers", Server, member="servers")


async def test_responses_have_types(cloud: Peer) -> None:
    cloud.content[f"{SERVERS}/1"] = {"server": {"id": "1", "status": "ACTIVE", "more": {}}}
    found = await compute(cloud).get("/servers/1", Server, member="server")
    assert found == Server("1", "ACTIVE")


async def test_a_created_resource_is_returned(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.json_response({"server": {"id": "7"}}, status=202)]
    body = {"server": {"name": "a"}}
    found = await compute(cloud).post("/servers", body, Server, member="server")
    assert (found.id, cloud.asked[-1].body) == ("7", body)


async def test_every_method_reaches_the_api(cloud: Peer) -> None:
    service = compute(cloud)
    await service.put("/os-services/1", {"status": "disabled"})
    await service.patch("/things/1", [{"op": "add"}], content_type="application/x+json")
    await service.delete("/servers/1")
    sent = [(each.method, each.path.rpartition("v2.1")[2]) for each in cloud.asked[1:]]
    assert sent == [
        ("PUT", "/os-services/1"),
        ("PATCH", "/things/1"),
        ("DELETE", "/servers/1"),
    ]
    assert cloud.asked[2].headers["Content-Type"] == "application/x+json"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_get_is_repeated_when_the_api_is_overloaded(cloud: Peer, status: int) -> None:
    cloud.replies[SERVERS] = [web.Response(status=status), web.Response(status=status)]
    assert await servers(compute(cloud)) == []
    assert cloud.count("GET", SERVERS) == 3


async def test_repetitions_are_bounded_and_the_last_fault_is_reported(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.Response(status=503, text="busy") for _ in range(9)]
    with pytest.raises(errors.ServerError, match="servers: 503: busy"):
        await servers(compute(cloud))
    assert cloud.count("GET", SERVERS) == 3


async def test_a_post_is_not_repeated(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.Response(status=503)]
    with pytest.raises(errors.ServerError):
        await compute(cloud).post("/servers", {})
    assert cloud.count("POST", SERVERS) == 1


async def test_an_api_that_asks_for_a_long_pause_is_not_asked_again(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.Response(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(errors.TooManyRequests):
        await servers(compute(cloud))


async def test_an_api_may_ask_for_a_short_pause(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.Response(status=429, headers={"Retry-After": "1"})]
    assert await servers(compute(cloud)) == []


@pytest.mark.parametrize(
    ("status", "body", "kind", "why"),
    [
        (403, '{"forbidden": {"code": 403, "message": "Policy"}}', errors.Forbidden, "Policy"),
        (404, '{"itemNotFound": {"message": "gone"}}', errors.NotFound, "gone"),
        (409, '{"errors": [{"status": 409, "detail": "taken"}]}', errors.Conflict, "taken"),
        (
            400,
            '{"NeutronError": {"type": "T", "message": "bad", "detail": ""}}',
            errors.BadRequest,
            "bad",
        ),
        (500, "<html><title>500</title><h1>Oops</h1>it failed</html>", errors.ServerError, "Oops"),
        (418, "", errors.ErrorResponse, "418"),
        (302, "", errors.ErrorResponse, "302"),
    ],
)
async def test_errors_have_a_type_a_place_and_the_reason(
    cloud: Peer, status: int, body: str, kind: type[errors.ErrorResponse], why: str
) -> None:
    cloud.replies[SERVERS] = [web.Response(status=status, text=body)]
    with pytest.raises(kind) as caught:
        await servers(compute(cloud))
    assert why in caught.value.message
    assert f"GET {cloud.url}{SERVERS}: {status}" in caught.value.message
    assert caught.value.status == status


async def test_a_long_reason_is_cut(cloud: Peer) -> None:
    cloud.replies[SERVERS] = [web.Response(status=400, text="word " * 500)]
    with pytest.raises(errors.BadRequest) as caught:
        await servers(compute(cloud))
    assert len(caught.value.message) < 450


@pytest.mark.parametrize("text", ["{", '{"others": []}', '{"servers": [{"id": 7}]}', "[]", ""])
async def test_a_malformed_body_is_named(cloud: Peer, text: str) -> None:
    cloud.replies[SERVERS] = [web.Response(text=text)]
    with pytest.raises(errors.Malformed, match=r"v2\.1/servers: the response"):
        await servers(compute(cloud))


async def test_a_slow_api_is_given_up(cloud: Peer) -> None:
    held = asyncio.Event()

    async def hold(_: web.BaseRequest) -> web.Response:
        await held.wait()
        return web.Response()

    service = compute(cloud, timeout=timedelta(milliseconds=200))
    cloud.replies[SERVERS] = [hold, hold, hold]
    with pytest.raises(errors.Unreachable, match=r"servers: no response within 0.2 s"):
        await servers(service)
    held.set()


async def test_an_api_that_sends_byte_by_byte_is_given_up(cloud: Peer) -> None:
    async def drip(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    cloud.replies[SERVERS] = [drip, drip, drip]
    with pytest.raises(errors.Unreachable, match="no response within"):
        await servers(compute(cloud, timeout=timedelta(milliseconds=200)))


async def test_a_connection_that_breaks_is_tried_again(cloud: Peer) -> None:
    async def cut(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    cloud.replies[SERVERS] = [cut]
    assert await servers(compute(cloud)) == []


async def test_an_api_that_is_down_is_named_with_the_remedy(cloud: Peer) -> None:
    cloud.url = "http://127.0.0.1:1"
    with pytest.raises(errors.Unreachable) as caught:
        await a_session(cloud).token()
    assert "POST http://127.0.0.1:1/identity/v3/auth/tokens" in caught.value.message
    assert caught.value.hint == "check that 127.0.0.1:1 can be reached from the operator"
