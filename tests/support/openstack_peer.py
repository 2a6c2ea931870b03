"""An HTTP server on loopback that speaks as Keystone and as the APIs of its catalogue do.

Every collection is empty and every request is permitted, unless a test changes that.
"""

import itertools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from cobaltcore.openstack import catalog
from cobaltcore.openstack.transport import HttpTransport, Request, Response

REGION = "RegionOne"
DOCUMENTS = {
    "/placement/": {"versions": [{"min_version": "1.0", "max_version": "1.39"}]},
    "/block-storage/v3/": {"versions": [{"min_version": "3.0", "version": "3.71"}]},
}
PATHS = {"identity": "/v3", "compute": "/v2.1", "block-storage": "/v3"}
"""What endpoints of the catalogue end in."""
Reply = web.Response | Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def token(self) -> str:
        return self.headers.get("X-Auth-Token", "")


@dataclass
class Peer:
    """What a test sets up, and what the server was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    """Path to replies, each used once, before `content`."""
    content: dict[str, object] = field(default_factory=lambda: dict(DOCUMENTS))
    """Path to what a GET of it returns; others return an empty collection."""
    refuses: set[str] = field(default_factory=set)
    """Users and application credentials that cannot log in."""
    unlisted: set[str] = field(default_factory=set)
    """Types that are not in the catalogue."""
    lifetime: timedelta = timedelta(hours=1)
    revoked: set[str] = field(default_factory=set)
    tokens: list[str] = field(default_factory=list)

    def path(self, type_: str, path: str = "") -> str:
        """Where the server has a path of a service."""
        return f"/{type_}{PATHS.get(type_, '')}{path}"

    @property
    def auth_url(self) -> str:
        return f"{self.url}{self.path('identity')}"

    def count(self, method: str, path: str) -> int:
        """How often something was asked for."""
        return sum((each.method, each.path) == (method, path) for each in self.asked)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        text = await request.text()
        body = await request.json() if text and request.content_type.endswith("json") else text
        asked = Asked(
            request.method, request.path, dict(request.query), dict(request.headers), body
        )
        self.asked.append(asked)
        if waiting := self.replies.get(request.path):
            reply = waiting.pop(0)
            return await reply(request) if callable(reply) else reply
        if request.path == self.path("identity", "/auth/tokens"):
            return self._issue(body)
        if asked.token not in self.tokens or asked.token in self.revoked:
            return web.json_response({"error": {"message": "not authorized"}}, status=401)
        return self._permitted(request)

    def _permitted(self, request: web.BaseRequest) -> web.Response:
        if request.method != "GET":
            return web.Response(status=204)
        if request.path == self.path("identity", "/auth/catalog"):
            return web.json_response({"catalog": self._catalog()})
        name = request.path.rpartition("/")[2].removeprefix("os-")
        return web.json_response(self.content.get(request.path, {name: []}))

    def _issue(self, body: Any) -> web.Response:
        identity = body["auth"]["identity"]
        (method,) = identity["methods"]
        login = identity[method]
        who = login["id"] if method == "application_credential" else login["user"]["name"]
        if who in self.refuses:
            return web.json_response({"error": {"message": "refused"}}, status=401)
        token = f"token-{len(self.tokens) + 1}"
        self.tokens.append(token)
        now = datetime.now(UTC)
        content = {
            "issued_at": now.isoformat(),
            "expires_at": (now + self.lifetime).isoformat(),
            "user": {"id": f"id-of-{who}", "name": who},
            "project": {"id": "p1", "name": "service"},
            "roles": [{"id": "r1", "name": "admin"}],
            "catalog": self._catalog(),
        }
        headers = {"X-Subject-Token": token}
        return web.json_response({"token": content}, status=201, headers=headers)

    def _catalog(self) -> list[dict[str, object]]:
        return [self._entry(each) for each in catalog.TYPES if each not in self.unlisted]

    def _entry(self, type_: str) -> dict[str, object]:
        url = f"{self.url}{self.path(type_)}"
        endpoints = [
            {"id": each, "interface": each, "region_id": REGION, "url": url}
            for each in ("public", "internal")
        ]
        return {"id": type_, "type": type_, "name": type_, "endpoints": endpoints}


@dataclass(frozen=True)
class Route:
    """Leads a client to the server, whatever name it has for Keystone."""

    peer: Peer

    async def send(self, request: Request) -> Response:
        if not request.url.startswith(self.peer.url):
            path = request.url.partition("/v3")[2]
            request = replace(request, url=f"{self.peer.auth_url}{path}")
        return await HttpTransport().send(request)


@asynccontextmanager
async def peer(tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    """Serve until the end of the block."""
    found = Peer()
    server = web.Server(found.handle)
    runner = web.ServerRunner(server)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = next(itertools.chain(runner.addresses))[:2]
        found.url = f"{'https' if tls else 'http'}://{host}:{port}"
        yield found
    finally:
        await runner.cleanup()
