"""The client: logins are shared and renewed, secrets are not repeated, pages are put together."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cobaltlab.korc import keystone
from cobaltlab.korc.clouds import Cloud
from tests.support import raw_server
from tests.support.fake_clock import FakeClock

CLOUD = Cloud("https://k.example.com/v3", {"methods": ["password"]})
Reply = Callable[[keystone.Request], keystone.Response]


class Script:
    """Answers logins with numbered tokens, and everything else as configured."""

    def __init__(self, clock: FakeClock, reply: Reply) -> None:
        self._clock = clock
        self._reply = reply
        self.logins = 0
        self.calls: list[keystone.Request] = []

    async def send(self, call: keystone.Request) -> keystone.Response:
        if not call.url.endswith("/auth/tokens"):
            self.calls.append(call)
            return self._reply(call)
        self.logins += 1
        expires = self._clock.now() + timedelta(hours=1)
        token = {"user": {"id": "me"}, "expires_at": expires.isoformat()}
        return keystone.Response(
            201, msgspec.json.encode({"token": token}), f"token-{self.logins}"
        )


def answer(status: int, body: Any) -> keystone.Response:
    return keystone.Response(status, msgspec.json.encode(body))


def refusal(status: int, message: str) -> keystone.Response:
    return answer(status, {"error": {"code": status, "message": message}})


def client(clock: FakeClock, reply: Reply) -> tuple[keystone.Keystone, Script]:
    script = Script(clock, reply)
    logins = keystone.Logins(clock=clock)
    return keystone.Keystone(script, logins.get(CLOUD)), script


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, tzinfo=UTC))


async def test_login_is_used_until_it_is_about_to_expire(clock: FakeClock) -> None:
    access, script = client(clock, lambda call: answer(200, {}))
    for _ in range(3):
        await access.request("GET", "/users")
    assert script.logins == 1

    await clock.advance(3590)
    await access.request("GET", "/users")

    assert script.logins == 2


async def test_refused_token_is_replaced_once(clock: FakeClock) -> None:
    access, script = client(
        clock,
        lambda call: refusal(401, "no") if call.token == "token-1" else answer(200, {"a": 1}),
    )

    assert await access.request("GET", "/users") == {"a": 1}
    assert script.logins == 2


async def test_refused_again_is_an_error(clock: FakeClock) -> None:
    access, script = client(clock, lambda call: refusal(401, "no"))

    with pytest.raises(keystone.Unauthorized):
        await access.request("GET", "/users")
    assert script.logins == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (403, keystone.Forbidden),
        (404, keystone.NotFound),
        (409, keystone.Conflict),
        (500, keystone.ErrorResponse),
    ],
)
async def test_errors_by_status(
    clock: FakeClock, status: int, kind: type[keystone.ErrorResponse]
) -> None:
    access, _ = client(clock, lambda call: refusal(status, "because"))

    with pytest.raises(kind) as caught:
        await access.request("DELETE", "/users/x")
    assert caught.value.message == f"DELETE /v3/users/x: {status}: because"


async def test_404_of_something_in_between_is_not_a_missing_resource(clock: FakeClock) -> None:
    access, _ = client(clock, lambda call: keystone.Response(404, b"<html>no such site</html>"))

    with pytest.raises(keystone.ErrorResponse) as caught:
        await access.request("GET", "/users/x")
    assert not isinstance(caught.value, keystone.NotFound)


async def test_answer_that_is_not_keystones_is_an_error(clock: FakeClock) -> None:
    access, _ = client(clock, lambda call: keystone.Response(200, b"<html>welcome</html>"))

    with pytest.raises(keystone.KeystoneError, match="is not JSON"):
        await access.request("GET", "/users")


async def test_secret_that_keystone_quotes_is_not_repeated(clock: FakeClock) -> None:
    access, _ = client(clock, lambda call: refusal(400, "hunter2 and s3cret are too short"))
    body = {"user": {"password": "hunter2", "more": [{"secret": "s3cret"}]}}

    with pytest.raises(keystone.ErrorResponse) as caught:
        await access.request("POST", "/users", body=body)
    assert "hunter2" not in caught.value.message
    assert "s3cret" not in caught.value.message


async def test_pages_are_put_together(clock: FakeClock) -> None:
    def reply(call: keystone.Request) -> keystone.Response:
        if "marker" in call.params:
            return answer(200, {"users": [2], "links": {"next": None}})
        following = "https://public.example.com/v3/users?marker=1&name=x"
        return answer(200, {"users": [1], "links": {"next": following}})

    access, script = client(clock, reply)

    assert await access.list("/users", "users", {"name": "x"}) == [1, 2]
    assert script.calls[1].params == {"marker": "1", "name": "x"}
    assert script.calls[1].url == "https://k.example.com/v3/users"


def test_number_of_kept_logins_is_bounded(clock: FakeClock) -> None:
    logins = keystone.Logins(clock=clock)
    first = logins.get(CLOUD)
    for number in range(keystone.LOGIN_CACHE_SIZE):
        assert logins.get(Cloud(f"https://{number}", {})) is not first

    assert logins.get(CLOUD) is not first


async def test_a_server_that_closes_every_connection_without_a_word_loses_no_request() -> None:
    asked: list[str] = []

    async def once(caller: raw_server.Caller) -> None:
        head, _ = await caller.request()
        asked.append(head.split()[0])
        caller.say(raw_server.an_answer())

    async with (
        raw_server.raw_server(once) as server,
        keystone.connect(Cloud(server.url, {})) as transport,
    ):
        for method in ("GET", "POST", "GET", "POST"):
            answered = await transport.send(keystone.Request(method, server.url, body={}))
            assert answered.status == 200
    assert asked == ["GET", "POST", "GET", "POST"]
