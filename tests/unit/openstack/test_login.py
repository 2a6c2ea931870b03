import asyncio
from datetime import timedelta

import pytest
from aiohttp import web

from cobaltcore.openstack import auth, catalog, errors
from cobaltcore.openstack.session import Session
from tests.support.fake_clock import FakeClock
from tests.support.openstack_peer import Peer
from tests.support.openstack_sessions import CREDENTIAL, a_session

LOGIN = "/identity/v3/auth/tokens"
IMAGES = "/image/v2/images"


async def images(session: Session) -> list[dict[str, str]]:
    service = session.service(catalog.IMAGE)
    return await service.list("/v2/images", dict[str, str], member="images")


async def test_an_application_credential_logs_in_once(cloud: Peer) -> None:
    session = a_session(cloud)
    await asyncio.gather(*(images(session) for _ in range(3)))
    assert cloud.count("POST", LOGIN) == 1
    assert cloud.asked[0].body == {
        "auth": {
            "identity": {
                "methods": ["application_credential"],
                "application_credential": {"id": "some-id", "secret": "s3cret"},
            }
        }
    }
    assert {each.token for each in cloud.asked[1:]} == {"token-1"}
    assert (await session.token()).grant.roles[0].name == "admin"


async def test_a_password_logs_in_to_a_project(cloud: Peer) -> None:
    login = auth.Password(username="nova", password="s3cret", project="service")
    token = await a_session(cloud, credentials=login).token()
    assert token.grant.user.name == "nova"
    assert cloud.asked[0].body["auth"]["scope"]["project"]["name"] == "service"


async def test_a_token_that_is_refused_is_renewed_once(cloud: Peer) -> None:
    session = a_session(cloud)
    await images(session)
    cloud.revoked.add("token-1")
    assert await images(session) == []
    assert cloud.count("POST", LOGIN) == 2


async def test_a_post_is_sent_again_with_the_new_token(cloud: Peer) -> None:
    session = a_session(cloud)
    await session.token()
    cloud.revoked.add("token-1")
    await session.service(catalog.COMPUTE).post("/servers/1/action", {"os-stop": None})
    sent = [each.token for each in cloud.asked if each.path.endswith("/action")]
    assert sent == ["token-1", "token-2"]


async def test_a_token_is_renewed_before_it_expires(cloud: Peer) -> None:
    clock = FakeClock()
    session = a_session(cloud, clock=clock)
    await images(session)
    await clock.advance(timedelta(minutes=53).total_seconds())
    await images(session)
    await clock.advance(timedelta(minutes=6).total_seconds())
    await images(session)
    used = [each.token for each in cloud.asked if each.path == IMAGES]
    assert used == ["token-1", "token-1", "token-2"]


async def test_an_api_that_refuses_fresh_tokens_is_named(cloud: Peer) -> None:
    refusal = web.json_response({}, status=401), web.json_response({}, status=401)
    cloud.replies[IMAGES] = list(refusal)
    with pytest.raises(errors.Unauthorized, match="refuses a token that Keystone has just issued"):
        await images(a_session(cloud))


@pytest.mark.parametrize("status", [401, 404])
async def test_a_wrong_credential_is_named_with_the_remedy(cloud: Peer, status: int) -> None:
    cloud.replies[LOGIN] = [web.json_response({}, status=status)]
    with pytest.raises(errors.Unauthorized) as caught:
        await images(a_session(cloud))
    assert caught.value.message == (
        f"Keystone at {cloud.auth_url} refuses application credential some-id"
    )
    assert "correct the Secret" in caught.value.hint


async def test_no_message_has_the_secret(cloud: Peer) -> None:
    quoted = web.json_response({"error": {"message": "'s3cret' is too short"}}, status=400)
    cloud.replies[LOGIN] = [quoted]
    with pytest.raises(errors.BadRequest) as caught:
        await images(a_session(cloud))
    assert "s3cret" not in str(caught.value) + repr(CREDENTIAL) + str(CREDENTIAL)


@pytest.mark.parametrize(
    "reply",
    [
        web.Response(text="<html>hello</html>", status=200),
        web.json_response({"token": {}}, status=201, headers={"X-Subject-Token": "x"}),
        web.json_response({"token": {}}, status=201),
    ],
)
async def test_what_is_no_keystone_is_named(cloud: Peer, reply: web.Response) -> None:
    cloud.replies[LOGIN] = [reply]
    with pytest.raises(errors.Malformed, match="does not respond as Keystone does"):
        await images(a_session(cloud))


async def test_a_login_is_repeated_while_keystone_restarts(cloud: Peer) -> None:
    cloud.replies[LOGIN] = [web.Response(status=503)]
    assert await images(a_session(cloud)) == []
