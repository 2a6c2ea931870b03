"""The API server's audit log as data: which requests arrived, from whom, between two moments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

BARRIER_AGENT = "audit-barrier"


class User(msgspec.Struct, frozen=True):
    username: str = ""
    groups: tuple[str, ...] = ()


class ObjectRef(msgspec.Struct, frozen=True, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class ResponseStatus(msgspec.Struct, frozen=True):
    code: int = 0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the API server saw it; `code` is 0 while it is not answered."""

    audit_id: str = msgspec.field(name="auditID")
    stage: str
    verb: str
    uri: str = msgspec.field(name="requestURI")
    user: User = User()
    agent: str = msgspec.field(name="userAgent", default="")
    object: ObjectRef = msgspec.field(name="objectRef", default=ObjectRef())
    status: ResponseStatus = msgspec.field(name="responseStatus", default=ResponseStatus())
    received: str = msgspec.field(name="requestReceivedTimestamp")
    body: Any = msgspec.field(name="requestObject", default=None)

    @property
    def code(self) -> int:
        return self.status.code

    def __str__(self) -> str:
        return f"{self.verb} {self.uri} -> {self.code} ({self.user.username}, {self.agent})"


@dataclass(frozen=True)
class Marker:
    """A moment: a place in the log, and the server's time of the request that set it."""

    offset: int = 0
    received: str = ""


@dataclass(frozen=True)
class Filter:
    """Which requests count. Empty fields match all; agents match by prefix."""

    user: str = ""
    agent: str = ""
    verbs: Sequence[str] = ()
    resource: str = ""
    namespace: str = ""

    def matches(self, request: Request) -> bool:
        return (
            self.user in {"", request.user.username}
            and request.agent.startswith(self.agent)
            and (not self.verbs or request.verb in self.verbs)
            and self.resource in {"", request.object.resource}
            and self.namespace in {"", request.object.namespace}
        )


_decoder = msgspec.json.Decoder(Request)


def read(log: Path, since: Marker) -> Iterator[Request]:
    """Whole lines after the marker. A line that is being written is left for the next call."""
    if not log.exists():
        return
    with log.open("rb") as file:
        file.seek(since.offset)
        for line in file:
            if line.endswith(b"\n"):
                yield _decoder.decode(line)


def requests(log: Path, since: Marker, wanted: Filter) -> list[Request]:
    """Requests received after the marker, each once, in the order of their last stage."""
    found = {
        each.audit_id: each
        for each in read(log, since)
        if each.received > since.received and each.agent != BARRIER_AGENT
    }
    return [each for each in found.values() if wanted.matches(each)]
