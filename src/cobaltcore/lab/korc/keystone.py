"""A small client of Keystone's API, version 3: logins are shared and renewed, errors are sentences.

KeystoneError            something that may be gone at the next try
├── Unreachable          no answer
└── Refused              an answer with an error status
    ├── Unauthorized 401 ├── Forbidden 403
    └── NotFound 404     └── Conflict  409
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol
from urllib import parse

import aiohttp
import msgspec

from cobaltcore.lab.korc.clouds import Cloud
from cobaltcore.runtime import errors
from cobaltcore.runtime.clock import Clock, SystemClock

AGENT = "cobaltcore-korc"
ANSWER_WITHIN = timedelta(seconds=60)
RENEW_BEFORE = timedelta(minutes=2)
KEPT_LOGINS = 256
_SECRETS = frozenset({"password", "secret"})


class KeystoneError(errors.RuntimeFault):
    """Keystone did not do what it was asked."""


class Unreachable(KeystoneError):
    """Keystone gave no answer."""


class Refused(KeystoneError):
    """Keystone answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unauthorized(Refused):
    """401: the credentials are not accepted."""


class Forbidden(Refused):
    """403: the credentials do not allow this."""


class NotFound(Refused):
    """404: there is no such thing."""


class Conflict(Refused):
    """409: something of that name exists."""


_BY_STATUS = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict}


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `token` is set by a login."""

    status: int
    body: bytes
    token: str = field(default="", repr=False)


class Wire(Protocol):
    """What the client needs of the network; tests put faults in between here."""

    async def send(self, call: Call) -> Answer:
        """Send a request and return the whole answer; raise Unreachable if there is none."""
        ...


Dial = Callable[[Cloud], AbstractAsyncContextManager[Wire]]


class HttpWire:
    """Requests over aiohttp."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(self, call: Call) -> Answer:
        """Send a request and return the whole answer."""
        headers = {"X-Auth-Token": call.token} if call.token else {}
        body = msgspec.json.encode(call.body) if call.body is not None else None
        try:
            async with self._session.request(
                call.method,
                call.url,
                params=dict(call.params),
                data=body,
                headers={**headers, "Content-Type": "application/json"},
                allow_redirects=False,
            ) as response:
                token = response.headers.get("X-Subject-Token", "")
                return Answer(response.status, await response.read(), token)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            what = str(error) or type(error).__name__
            raise Unreachable(f"Keystone at {_host(call.url)} does not answer: {what}") from error


@asynccontextmanager
async def dial(cloud: Cloud) -> AsyncIterator[Wire]:
    """Connections to a cloud's Keystone for the length of one pass."""
    tls: ssl.SSLContext | bool = True
    if cloud.url.startswith("https:"):
        tls = _tls(cloud.authority) if cloud.verify else False
    # uWSGI closes a connection after its answer without saying so; the next request on it is lost.
    connector = aiohttp.TCPConnector(ssl=tls, force_close=True)
    timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN.total_seconds())
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers={"User-Agent": AGENT}
    ) as session:
        yield HttpWire(session)


@lru_cache(maxsize=16)
def _tls(authority: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=authority or None)
    except (ssl.SSLError, ValueError) as error:
        raise KeystoneError("the key 'cacert' of the Secret holds no certificate") from error


@dataclass(slots=True)
class Login:
    """A token and what it says; shared by all passes that use the same credentials."""

    cloud: Cloud
    clock: Clock
    token: str = field(default="", repr=False)
    expires: datetime | None = None
    user_id: str = ""
    project_id: str = ""
    domain_id: str = ""
    """The domain that the token is scoped to; empty for others."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def renew(self, wire: Wire, *, refused: str = "") -> str:
        """A token that is good for a while and is not the `refused` one."""
        async with self._turn:
            if self._is_stale() or self.token == refused:
                await self._log_in(wire)
            return self.token

    def _is_stale(self) -> bool:
        return self.expires is None or self.clock.now() > self.expires - RENEW_BEFORE

    async def _log_in(self, wire: Wire) -> None:
        self.token, self.expires = "", None
        call = Call("POST", f"{self.cloud.url}/auth/tokens", body=self.cloud.login)
        answer = await wire.send(call)
        if answer.status == 401:
            raise Unauthorized(
                401, f"Keystone at {_host(self.cloud.url)} refuses the credentials to log in"
            )
        if answer.status >= 300:
            # No 404 from here may be taken for a resource that is gone.
            raise Refused(answer.status, f"POST {call.url}: {answer.status}: {_message(answer)}")
        found = _decode(answer)["token"]
        self.user_id = found["user"]["id"]
        self.project_id = (found.get("project") or {}).get("id", "")
        self.domain_id = (found.get("domain") or {}).get("id", "")
        self.expires = datetime.fromisoformat(found["expires_at"])
        self.token = answer.token


class Logins:
    """All logins of the process, the most recently used ones."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[str, Login] = {}

    def get(self, cloud: Cloud) -> Login:
        """The login of a cloud's credentials."""
        login = self._known.pop(cloud.fingerprint, None) or Login(cloud, self._clock)
        self._known[cloud.fingerprint] = login
        while len(self._known) > KEPT_LOGINS:
            del self._known[next(iter(self._known))]
        return login


class Keystone:
    """Keystone as one identity, for the length of one pass."""

    def __init__(self, wire: Wire, login: Login) -> None:
        self._wire = wire
        self._login = login

    @property
    def cloud(self) -> Cloud:
        """Where and as whom."""
        return self._login.cloud

    async def whoami(self) -> Login:
        """The login with its facts filled in."""
        await self._login.renew(self._wire)
        return self._login

    def become(self, login: Login) -> "Keystone":
        """The same Keystone as another identity."""
        return Keystone(self._wire, login)

    async def accepts(self, cloud: Cloud) -> bool:
        """Whether a login with these credentials works at this moment."""
        call = Call("POST", f"{cloud.url}/auth/tokens", body=cloud.login)
        answer = await self._wire.send(call)
        if answer.status in {401, 404}:  # 404: there is no such application credential
            return False
        _raise_for(answer, call)
        return True

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request; log in before it, and once more if the token is refused."""
        token = await self._login.renew(self._wire)
        call = Call(method, f"{self._login.cloud.url}{path}", params or {}, body, token)
        answer = await self._wire.send(call)
        if answer.status == 401:
            token = await self._login.renew(self._wire, refused=token)
            call = Call(call.method, call.url, call.params, call.body, token)
            answer = await self._wire.send(call)
        _raise_for(answer, call)
        return _decode(answer)

    async def list(self, path: str, member: str, params: Mapping[str, str]) -> list[Any]:
        """Everything that matches, page by page."""
        found: list[Any] = []
        query = dict(params)
        while True:
            page = await self.request("GET", path, params=query)
            found += page[member]
            following = (page.get("links") or {}).get("next")
            if not following:
                return found
            query = dict(parse.parse_qsl(parse.urlsplit(following).query))


def _raise_for(answer: Answer, call: Call) -> None:
    if answer.status < 300:
        return
    message = _message(answer)
    # An error without Keystone's own words comes from something in between.
    kind = _BY_STATUS.get(answer.status, Refused) if message else Refused
    for secret in _secrets(call.body):
        message = message.replace(secret, "…")
    path = parse.urlsplit(call.url).path
    raise kind(answer.status, f"{call.method} {path}: {answer.status}: {message}")


def _message(answer: Answer) -> str:
    try:
        error = _decode(answer).get("error") or {}
    except KeystoneError:
        return ""
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _decode(answer: Answer) -> dict[str, Any]:
    if not answer.body:
        return {}
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise KeystoneError("what answers at Keystone's address is not Keystone") from error


def _secrets(body: Any) -> list[str]:
    """Values that must not be repeated: Keystone quotes what it finds invalid."""
    found: list[str] = []
    if isinstance(body, Mapping):
        for name, value in body.items():
            if name in _SECRETS and isinstance(value, str) and value:
                found.append(value)
            found += _secrets(value)
    elif isinstance(body, list):
        for each in body:
            found += _secrets(each)
    return found


def _host(url: str) -> str:
    return parse.urlsplit(url).netloc
