"""A small client of Keystone's v3 API with shared logins and typed errors.

KeystoneError            may be gone at the next attempt
├── Unreachable          no response
└── ErrorResponse        a response with an error status
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

from cobaltcore.runtime import errors
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltlab.korc.clouds import Cloud

USER_AGENT = "cobaltcore-korc"
TIMEOUT = timedelta(seconds=60)
RENEW_BEFORE = timedelta(minutes=2)
LOGIN_CACHE_SIZE = 256
_SECRETS = frozenset({"password", "secret"})


class KeystoneError(errors.RuntimeFault):
    """A request to Keystone failed."""


class Unreachable(KeystoneError):
    """Keystone does not respond."""


class ErrorResponse(KeystoneError):
    """Keystone responded with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unauthorized(ErrorResponse):
    """401: the credentials or the token are rejected."""


class Forbidden(ErrorResponse):
    """403: the credentials do not allow this."""


class NotFound(ErrorResponse):
    """404: no such resource."""


class Conflict(ErrorResponse):
    """409: a resource of that name exists."""


_BY_STATUS = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict}


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request."""

    method: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response; `token` is set by a login."""

    status: int
    body: bytes
    token: str = field(default="", repr=False)


class Transport(Protocol):
    """The only seam to the network; tests inject faults here."""

    async def send(self, request: Request) -> Response:
        """Send a request; raises Unreachable if there is no response."""
        ...


Connect = Callable[[Cloud], AbstractAsyncContextManager[Transport]]


class HttpTransport:
    """Requests over aiohttp."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(self, request: Request) -> Response:
        headers = {"X-Auth-Token": request.token} if request.token else {}
        body = msgspec.json.encode(request.body) if request.body is not None else None
        try:
            async with self._session.request(
                request.method,
                request.url,
                params=dict(request.params),
                data=body,
                headers={**headers, "Content-Type": "application/json"},
                allow_redirects=False,
            ) as response:
                token = response.headers.get("X-Subject-Token", "")
                return Response(response.status, await response.read(), token)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            what = str(error) or type(error).__name__
            raise Unreachable(
                f"Keystone at {_host(request.url)} does not respond: {what}"
            ) from error


@asynccontextmanager
async def connect(cloud: Cloud) -> AsyncIterator[Transport]:
    """Connections to the Keystone of a cloud for one reconcile."""
    tls: ssl.SSLContext | bool = True
    if cloud.url.startswith("https:"):
        tls = _tls(cloud.ca_certificates) if cloud.verify else False
    # uWSGI closes connections without a Connection header; the next request on one would be lost.
    connector = aiohttp.TCPConnector(ssl=tls, force_close=True)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT.total_seconds())
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers={"User-Agent": USER_AGENT}
    ) as session:
        yield HttpTransport(session)


@lru_cache(maxsize=16)
def _tls(ca_certificates: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=ca_certificates or None)
    except (ssl.SSLError, ValueError) as error:
        raise KeystoneError(
            "the key 'cacert' of the Secret holds no certificate",
            "replace it with PEM certificates, or remove it to use the CA bundle of the system",
        ) from error


@dataclass(slots=True)
class Login:
    """A token and its content; shared by all objects with the same credentials."""

    cloud: Cloud
    clock: Clock
    token: str = field(default="", repr=False)
    expires: datetime | None = None
    user_id: str = ""
    project_id: str = ""
    domain_id: str = ""
    """The domain scope of the token; empty for other scopes."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def renew(self, transport: Transport, *, rejected: str = "") -> str:
        """A token that is valid for some time and is not the `rejected` one."""
        async with self._lock:
            if self._expires_soon() or self.token == rejected:
                await self._log_in(transport)
            return self.token

    def _expires_soon(self) -> bool:
        return self.expires is None or self.clock.now() > self.expires - RENEW_BEFORE

    async def _log_in(self, transport: Transport) -> None:
        self.token, self.expires = "", None
        request = Request("POST", f"{self.cloud.url}/auth/tokens", body=self.cloud.login)
        response = await transport.send(request)
        if response.status == 401:
            raise Unauthorized(
                401, f"Keystone at {_host(self.cloud.url)} refuses the credentials of clouds.yaml"
            )
        if response.status >= 300:
            # A 404 of a login must not read as a resource that was deleted.
            raise ErrorResponse(
                response.status, f"POST {request.url}: {response.status}: {_message(response)}"
            )
        found = _decode(response)["token"]
        self.user_id = found["user"]["id"]
        self.project_id = (found.get("project") or {}).get("id", "")
        self.domain_id = (found.get("domain") or {}).get("id", "")
        self.expires = datetime.fromisoformat(found["expires_at"])
        self.token = response.token


class Logins:
    """An LRU cache of logins."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[str, Login] = {}

    def get(self, cloud: Cloud) -> Login:
        login = self._known.pop(cloud.fingerprint, None) or Login(cloud, self._clock)
        self._known[cloud.fingerprint] = login
        while len(self._known) > LOGIN_CACHE_SIZE:
            del self._known[next(iter(self._known))]
        return login


class Keystone:
    """Keystone with one identity, for one reconcile."""

    def __init__(self, transport: Transport, login: Login) -> None:
        self._transport = transport
        self._login = login

    @property
    def cloud(self) -> Cloud:
        return self._login.cloud

    async def whoami(self) -> Login:
        """The login with user, project and domain."""
        await self._login.renew(self._transport)
        return self._login

    def with_login(self, login: Login) -> "Keystone":
        """The same connection with another identity."""
        return Keystone(self._transport, login)

    async def accepts(self, cloud: Cloud) -> bool:
        """Whether a login with these credentials works."""
        request = Request("POST", f"{cloud.url}/auth/tokens", body=cloud.login)
        response = await self._transport.send(request)
        if response.status in {401, 404}:  # 404: there is no such application credential
            return False
        _raise_for(response, request)
        return True

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request with a token; log in again if the token is rejected."""
        token = await self._login.renew(self._transport)
        request = Request(method, f"{self._login.cloud.url}{path}", params or {}, body, token)
        response = await self._transport.send(request)
        if response.status == 401:
            token = await self._login.renew(self._transport, rejected=token)
            request = Request(request.method, request.url, request.params, request.body, token)
            response = await self._transport.send(request)
        _raise_for(response, request)
        return _decode(response)

    async def list(self, path: str, member: str, params: Mapping[str, str]) -> list[Any]:
        """All pages of a collection."""
        found: list[Any] = []
        query = dict(params)
        while True:
            page = await self.request("GET", path, params=query)
            found += page[member]
            following = (page.get("links") or {}).get("next")
            if not following:
                return found
            query = dict(parse.parse_qsl(parse.urlsplit(following).query))


def _raise_for(response: Response, request: Request) -> None:
    if response.status < 300:
        return
    message = _message(response)
    # An error without Keystone's message comes from a proxy.
    kind = _BY_STATUS.get(response.status, ErrorResponse) if message else ErrorResponse
    for secret in _secrets(request.body):
        message = message.replace(secret, "…")
    path = parse.urlsplit(request.url).path
    raise kind(response.status, f"{request.method} {path}: {response.status}: {message}")


def _message(response: Response) -> str:
    try:
        error = _decode(response).get("error") or {}
    except KeystoneError:
        return ""
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _decode(response: Response) -> dict[str, Any]:
    if not response.body:
        return {}
    try:
        return msgspec.json.decode(response.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise KeystoneError(
            "the response is not JSON: the auth_url does not lead to Keystone",
            "correct auth.auth_url in clouds.yaml",
        ) from error


def _secrets(body: Any) -> list[str]:
    """Values to mask in messages: Keystone quotes invalid ones."""
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
