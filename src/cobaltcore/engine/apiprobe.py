"""Asks an API as the service's own user would: a token, the catalogue, its lists."""

from collections.abc import Iterator, Mapping

import msgspec

from cobaltcore.engine import usability
from cobaltcore.engine.context import Context
from cobaltcore.engine.definition import AnyScope, Listing
from cobaltcore.engine.planner import Probe
from cobaltcore.engine.usability import Finding
from cobaltcore.openstack import errors
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.openstack.retry import Retry
from cobaltcore.openstack.session import Session

MOST_SESSIONS = 512
RETRY = Retry(attempts=2)
REASONS: Mapping[type[errors.OpenStackFault], str] = {
    errors.Unauthorized: "CredentialRefused",
    errors.Forbidden: "Forbidden",
    errors.NotInCatalog: "EndpointMissing",
    errors.Untrusted: "CertificateUntrusted",
    errors.TrustInvalid: "CertificateUntrusted",
    errors.Unreachable: "Unreachable",
}
"""Of conditions; other faults are a response that is not usable."""


class _Anything(msgspec.Struct):
    """A row that is not looked into."""


class ApiProbe:
    """The probe of one planner: keeps tokens, which are renewed when they are refused or get old."""

    def __init__(self) -> None:
        self._sessions: dict[Cloud, Session] = {}

    def probes(self) -> Iterator[Probe[AnyScope]]:
        yield Probe(
            usability.PROBE,
            self._ask,
            limit=usability.LIMIT,
            subject=usability.subject,
            period=usability.period,
            decides=False,
        )

    async def _ask(self, scope: AnyScope, context: Context) -> Finding:
        cloud = usability.cloud(scope)
        if cloud is None:
            return Finding("SecretMissing", "the Secret with the service's login is incomplete")
        try:
            rows = await self._rows(scope, self._session(cloud, context))
        except errors.OpenStackFault as fault:
            reason = next((REASONS[each] for each in type(fault).mro() if each in REASONS), "")
            text = f"{fault.message}; {fault.hint}" if fault.hint else fault.message
            return Finding(reason or "NotUsable", text)
        return Finding(rows=tuple(rows))

    async def _rows(self, scope: AnyScope, session: Session) -> list[msgspec.Struct]:
        check = scope.service.check
        found: list[msgspec.Struct] = []
        # An endpoint that was deleted stays in the catalogue of a token.
        await session.refresh()
        for each in check.lists if check is not None else ():
            found += await _listed(scope, session, each)
        return found

    def _session(self, cloud: Cloud, context: Context) -> Session:
        found = self._sessions.pop(cloud, None) or Session(
            cloud, transport=context.openstack, clock=context.clock, retry=RETRY
        )
        self._sessions[cloud] = found
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found


async def _listed(scope: AnyScope, session: Session, wanted: Listing) -> list[msgspec.Struct]:
    """The rows that are judged; of other lists the first page proves that they can be read."""
    service = session.service(usability.type_of(scope), versions=wanted.versions)
    found: list[msgspec.Struct] = await service.list(
        wanted.path,
        wanted.row or _Anything,
        member=wanted.member,
        params=wanted.parameters,
        pages=None if wanted.row is not None else 1,
    )
    return found if wanted.row is not None else []
