"""One identity in one region: a token that is renewed, the catalogue, and requests with both.

    session = Session(Cloud(auth_url=…, credentials=ApplicationCredential(id_, secret)))
    compute = session.service(catalog.COMPUTE, versions=Range("2.53", "2.95"))
    servers = await compute.list("/servers", Server, member="servers")

It holds no socket, so it needs no closing; it may be shared by all reconciles that have the same
credentials.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from cobaltcore.openstack import catalog, errors
from cobaltcore.openstack.auth import Grant, Token
from cobaltcore.openstack.catalog import Catalog, ServiceType
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.openstack.retry import IDEMPOTENT, Retry
from cobaltcore.openstack.service import Service
from cobaltcore.openstack.transport import HttpTransport, Request, Response, Transport
from cobaltcore.openstack.versions import Range
from cobaltcore.runtime.clock import Clock, SystemClock

JSON = "application/json"


class _Issued(msgspec.Struct):
    token: Grant


class _Listed(msgspec.Struct):
    catalog: Catalog


class Session:
    """Requests as one user."""

    def __init__(
        self,
        cloud: Cloud,
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        retry: Retry = Retry(),  # noqa: B008 frozen
    ) -> None:
        self.cloud = cloud
        self._transport = transport or HttpTransport()
        self._clock = clock or SystemClock()
        self._retry = retry
        self._token: Token | None = None
        self._catalog: Catalog = ()
        self._lock = asyncio.Lock()
        self.offered: dict[ServiceType, Range] = {}
        """Microversions that APIs serve, as far as they were asked."""

    def service(self, wanted: ServiceType, *, versions: Range | None = None) -> Service:
        """An API of the cloud; `versions`: the microversions that the caller speaks."""
        return Service(self, wanted, versions)

    async def token(self, *, rejected: Token | None = None) -> Token:
        """A token that is valid for some time and is not the rejected one."""
        async with self._lock:
            known = self._token
            if known is None or known is rejected or known.expires_soon(self._clock.monotonic()):
                self._token = None
                self._token = known = await self._log_in()
                self._catalog = known.grant.catalog
            return known

    async def endpoint(self, wanted: ServiceType) -> str:
        """The address of a service in the catalogue; one that is missing may have been added."""
        await self.token()
        try:
            return self._find(wanted)
        except errors.NotInCatalog:
            await self.refresh()
            return self._find(wanted)

    async def refresh(self) -> None:
        """Read the catalogue again: a token has that of the time when it was issued."""
        url = f"{self.cloud.auth_url.rstrip('/')}/auth/catalog"
        response = await self.send(Request(method="GET", url=url, headers={"Accept": JSON}))
        try:
            self._catalog = msgspec.json.decode(response.body, type=_Listed).catalog
        except msgspec.MsgspecError as error:
            raise _no_keystone(self.cloud.auth_url) from error

    async def send(self, request: Request) -> Response:
        """Send a request with a token; with a new one, if the token is refused."""
        token = await self.token()
        response = await self._send(_with(request, token))
        if response.status == 401:
            token = await self.token(rejected=token)
            response = await self._send(_with(request, token))
        # 300 is how some APIs send their document of versions.
        if response.status > 300:
            raise _refused(request, response)
        return response

    async def _log_in(self) -> Token:
        cloud = self.cloud
        request = Request(
            method="POST",
            url=f"{cloud.auth_url.rstrip('/')}/auth/tokens",
            headers={"Content-Type": JSON, "Accept": JSON},
            body=msgspec.json.encode(cloud.credentials.body()),
        )
        # A second token does no harm.
        response = await self._send(request, repeatable=True)
        if response.status in (401, 404):
            # 404: there is no such application credential.
            raise errors.Unauthorized(
                401,
                f"Keystone at {cloud.auth_url} refuses {cloud.credentials}",
                "it is wrong, has expired or was deleted: correct the Secret that has it",
            )
        if response.status >= 300:
            # What a request lacks is described with its values, one of which is the secret.
            body = response.body if response.status >= 500 else b""
            raise errors.from_status(str(request), response.status, body)
        try:
            grant = msgspec.json.decode(response.body, type=_Issued).token
            return Token(response.headers["x-subject-token"], grant, self._clock.monotonic())
        except (KeyError, msgspec.MsgspecError) as error:
            raise _no_keystone(cloud.auth_url) from error

    def _find(self, wanted: ServiceType) -> str:
        cloud = self.cloud
        return catalog.find(self._catalog, wanted, interface=cloud.interface, region=cloud.region)

    async def _send(self, request: Request, *, repeatable: bool = False) -> Response:
        cloud = self.cloud
        request = replace(request, ca_certificates=cloud.ca_certificates, timeout=cloud.timeout)
        return await self._retry.send(
            self._transport,
            request,
            clock=self._clock,
            repeatable=repeatable or request.method in IDEMPOTENT,
        )


def _with(request: Request, token: Token) -> Request:
    headers: Mapping[str, str] = {**request.headers, "X-Auth-Token": token.value}
    return replace(request, headers=headers)


def _refused(request: Request, response: Response) -> errors.ErrorResponse:
    if response.status == 401:
        return errors.Unauthorized(
            401,
            f"{request}: 401: it refuses a token that Keystone has just issued",
            "check that the API reaches Keystone, and with which credentials: its log has the cause",
        )
    return errors.from_status(str(request), response.status, response.body)


def _no_keystone(url: str) -> errors.Malformed:
    return errors.Malformed(
        f"{url} does not respond as Keystone does", "correct the auth URL; it ends in /v3"
    )
