"""One API of a cloud: requests and responses with types, pages, microversions."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib import parse

import msgspec

from cobaltcore.openstack import versions
from cobaltcore.openstack.catalog import ServiceType
from cobaltcore.openstack.errors import Malformed
from cobaltcore.openstack.transport import Request, Response
from cobaltcore.openstack.versions import Range

if TYPE_CHECKING:
    from cobaltcore.openstack.session import Session

T = TypeVar("T")
Params = Mapping[str, str]
JSON = "application/json"
MOST_PAGES = 1000
_VERSION = re.compile(r"/v\d[\d.]*(?=/|$)")


class Service:
    """Requests to one API. Paths begin with a slash and are relative to its endpoint.

    `into` is the type of what the response has under `member`, or of the whole response.
    """

    def __init__(self, session: "Session", type_: ServiceType, wanted: Range | None) -> None:
        self._session = session
        self._type = type_
        self._wanted = wanted

    async def get(
        self, path: str, into: type[T], *, member: str = "", params: Params | None = None
    ) -> T:
        """Read one resource."""
        return _decoded(*await self._send("GET", path, params=params), into, member)

    async def list(
        self,
        path: str,
        into: type[T],
        *,
        member: str,
        params: Params | None = None,
        pages: int | None = None,
    ) -> list[T]:
        """Read a collection: all pages, or the first `pages`."""
        found: list[T] = []
        query = dict(params or {})
        for _ in range(pages or MOST_PAGES):
            request, response = await self._send("GET", path, params=query)
            page = _decoded(request, response, dict[str, msgspec.Raw])
            found += _decoded(request, response, list[into], member)  # type: ignore[valid-type]
            following = _next(page, member)
            if not following or following == query:
                return found
            query = following
        if pages is None:
            raise Malformed(f"GET {path}: more than {MOST_PAGES} pages")
        return found

    @overload
    async def post(self, path: str, body: object) -> None: ...
    @overload
    async def post(self, path: str, body: object, into: type[T], *, member: str = "") -> T: ...
    async def post(
        self, path: str, body: object, into: type[T] | None = None, *, member: str = ""
    ) -> T | None:
        """Create a resource or start an action; it is sent once."""
        sent = await self._send("POST", path, body=body)
        return _decoded(*sent, into, member) if into is not None else None

    @overload
    async def put(self, path: str, body: object) -> None: ...
    @overload
    async def put(self, path: str, body: object, into: type[T], *, member: str = "") -> T: ...
    async def put(
        self, path: str, body: object, into: type[T] | None = None, *, member: str = ""
    ) -> T | None:
        """Replace a resource."""
        sent = await self._send("PUT", path, body=body)
        return _decoded(*sent, into, member) if into is not None else None

    async def patch(self, path: str, body: object, *, content_type: str = JSON) -> None:
        """Change a resource; it is sent once."""
        await self._send("PATCH", path, body=body, content_type=content_type)

    async def delete(self, path: str) -> None:
        """Delete a resource; raises NotFound if there is none."""
        await self._send("DELETE", path)

    async def microversion(self) -> str:
        """The newest microversion that both sides speak; empty if the caller asks for none."""
        if self._wanted is None:
            return ""
        known = self._session.offered
        if self._type not in known:
            endpoint = await self._session.endpoint(self._type)
            request = Request(method="GET", url=_root(endpoint), headers={"Accept": JSON})
            response = await self._session.send(request)
            known[self._type] = versions.served(request.url, response.body)
        what = f"{self._type.name} at {await self._session.endpoint(self._type)}"
        return versions.chosen(what, self._wanted, known[self._type])

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> tuple[Request, Response]:
        endpoint = await self._session.endpoint(self._type)
        headers = {"Accept": JSON}
        if version := await self.microversion():
            headers["OpenStack-API-Version"] = f"{self._type.header} {version}"
        if body is not None:
            headers["Content-Type"] = content_type
        request = Request(
            method=method,
            url=f"{endpoint}{path}",
            params=params or {},
            headers=headers,
            body=msgspec.json.encode(body) if body is not None else None,
        )
        return request, await self._session.send(request)


def _decoded(request: Request, response: Response, into: type[T], member: str = "") -> T:
    try:
        if not member:
            return msgspec.json.decode(response.body, type=into)
        raw = msgspec.json.decode(response.body, type=dict[str, msgspec.Raw])[member]
        return msgspec.json.decode(raw, type=into)
    except KeyError as error:
        raise _malformed(request, f"has no {member!r}") from error
    except msgspec.MsgspecError as error:
        raise _malformed(request, f"cannot be read: {error}") from error


def _malformed(request: Request, why: str) -> Malformed:
    return Malformed(
        f"{request}: the response {why}",
        "check that the endpoint in Keystone's catalogue is that of the service",
    )


class _Link(msgspec.Struct):
    href: str
    rel: str = ""


def _next(page: Mapping[str, msgspec.Raw], member: str) -> dict[str, str]:
    """Parameters of the next page; empty if there is none.

    Nova, Neutron and Cinder have a list of links, Keystone a map of them, Glance and Barbican the
    link itself.
    """
    url = _link(page, f"{member}_links", list[_Link]) or _link(page, "links", dict[str, Any])
    url = url or _link(page, "next", str)
    return dict(parse.parse_qsl(parse.urlsplit(url).query, keep_blank_values=True))


def _link(page: Mapping[str, msgspec.Raw], name: str, into: type[Any]) -> str:
    try:
        found = msgspec.json.decode(page[name], type=into) if name in page else None
    except msgspec.MsgspecError:
        return ""
    if isinstance(found, list):
        return next((each.href for each in found if each.rel == "next"), "")
    if isinstance(found, dict):
        return str(found.get("next") or "")
    return found or ""


def _root(endpoint: str) -> str:
    """Where the document of versions is: the endpoint up to its version."""
    found = _VERSION.search(endpoint)
    return f"{endpoint[: found.end()] if found else endpoint}/"
