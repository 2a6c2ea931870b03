"""Requests over HTTP: trust and time limits. The only door to the network.

Every request has a connection of its own: APIs under uWSGI close it after the response.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from ssl import SSLCertVerificationError, SSLContext, SSLError, create_default_context
from typing import TYPE_CHECKING, Protocol
from urllib import parse

from cobaltcore.openstack.cloud import TIMEOUT
from cobaltcore.openstack.errors import Malformed, TrustInvalid, Unreachable, Untrusted

if TYPE_CHECKING:
    import aiohttp

USER_AGENT = "cobaltcore"
LARGEST_RESPONSE_BYTES = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request."""

    method: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    ca_certificates: str = field(default="", repr=False)
    """PEM; empty: those of the system."""
    timeout: timedelta = TIMEOUT

    def __str__(self) -> str:
        return f"{self.method} {self.url}"


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, read whole."""

    status: int
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By names in lower case."""


class Transport(Protocol):
    """Sends requests; tests inject faults and routes here."""

    async def send(self, request: Request) -> Response:
        """Return the response, whatever its status; raises Unreachable if there is none."""
        ...


class HttpTransport:
    """Requests over aiohttp."""

    def __init__(self, addresses: Mapping[str, str] | None = None) -> None:
        """`addresses`: what names of the cloud resolve to, where they do not resolve by DNS."""
        self._addresses = addresses

    async def send(self, request: Request) -> Response:
        # Large, and not needed by processes that never ask: imported here.
        import aiohttp

        limit = aiohttp.ClientTimeout(total=request.timeout.total_seconds())
        connector = aiohttp.TCPConnector(
            ssl=_trust(request), force_close=True, resolver=_resolver(self._addresses)
        )
        try:
            async with (
                aiohttp.ClientSession(connector=connector, timeout=limit) as session,
                session.request(
                    request.method,
                    request.url,
                    params=dict(request.params),
                    data=request.body,
                    headers={"User-Agent": USER_AGENT, **request.headers},
                    # A token must not follow to another host.
                    allow_redirects=False,
                ) as response,
            ):
                body = await _body(request, response)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Response(response.status, body, headers)
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(request, error) from error


def _resolver(addresses: Mapping[str, str] | None) -> "aiohttp.ThreadedResolver | None":
    if not addresses:
        return None
    import aiohttp

    known = addresses

    class Resolver(aiohttp.ThreadedResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> "list[aiohttp.abc.ResolveResult]":
            return await super().resolve(known.get(host, host), port, family)

    return Resolver()


async def _body(request: Request, response: "aiohttp.ClientResponse") -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > LARGEST_RESPONSE_BYTES:
            raise Malformed(f"{request}: the response is larger than {LARGEST_RESPONSE_BYTES} B")
        parts.append(chunk)
    return b"".join(parts)


def _unreachable(request: Request, error: Exception) -> Unreachable:
    host = parse.urlsplit(request.url).netloc
    certificate = getattr(error, "certificate_error", None)
    if isinstance(certificate, SSLCertVerificationError):
        return Untrusted(
            f"{request}: the certificate is not trusted: {certificate.verify_message}",
            f"the CA bundle must have the CA that signed the certificate of {host}",
        )
    if isinstance(error, TimeoutError):
        why = f"no response within {request.timeout.total_seconds():g} s"
    else:
        why = str(error) or type(error).__name__
    return Unreachable(f"{request}: {why}", f"check that {host} can be reached from the operator")


def _trust(request: Request) -> SSLContext | bool:
    return _context(request.ca_certificates) if request.url.startswith("https:") else True


@lru_cache(maxsize=64)
def _context(ca_certificates: str) -> SSLContext:
    try:
        return create_default_context(cadata=ca_certificates or None)
    except (SSLError, ValueError) as error:
        raise TrustInvalid(
            "the CA bundle holds no certificate",
            "replace it with certificates in PEM, or remove it to use those of the system",
        ) from error
