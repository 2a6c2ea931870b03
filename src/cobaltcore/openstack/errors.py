"""Errors between this process and an OpenStack API. Pure.

OpenStackFault           a sentence for people, with what to do about it
├── Unreachable          no response: refused, timed out, no such name
│   └── Untrusted        the certificate is not of a CA that is trusted
├── TrustInvalid         the CA bundle cannot be used
├── NotInCatalog         Keystone's catalogue has no such endpoint
├── VersionUnsupported   the API serves no microversion that this client speaks
├── Malformed            a response that is not one of this API
└── ErrorResponse        a response with an error status
    ├── BadRequest 400   ├── Unauthorized 401   ├── Forbidden       403
    ├── NotFound   404   ├── Conflict     409   ├── TooManyRequests 429
    └── ServerError 5xx
"""

import re
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from cobaltcore.runtime import errors

LONGEST_REASON = 300
_DETAILS = ("message", "detail", "description", "title", "faultstring")
"""Where the APIs put their reason."""
_TAG = re.compile(r"<(title|head|style)>.*?</\1>|<[^>]*>", re.DOTALL)


class OpenStackFault(errors.RuntimeFault):
    """Base of all errors of this package; `hint` is what the user can do about it."""


class Unreachable(OpenStackFault, errors.Unreachable):
    """There is no response."""


class Untrusted(Unreachable):
    """The certificate is not of a CA that is trusted."""


class TrustInvalid(OpenStackFault):
    """The CA bundle cannot be used."""


class NotInCatalog(OpenStackFault):
    """Keystone's catalogue has no such endpoint."""


class VersionUnsupported(OpenStackFault):
    """The API serves no microversion that this client speaks."""


class Malformed(OpenStackFault):
    """A response that is not one of this API."""


class ErrorResponse(OpenStackFault):
    """A response with an error status."""

    HINT: ClassVar[str] = ""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint or self.HINT)
        self.status = status


class BadRequest(ErrorResponse):
    """400: the request itself is malformed."""


class Unauthorized(ErrorResponse):
    """401: credentials or token are refused."""


class Forbidden(ErrorResponse):
    """403: the credentials do not allow this."""

    HINT = "give the user a role that allows it, or correct policyOverrides"


class NotFound(ErrorResponse):
    """404: no such resource or path."""


class Conflict(ErrorResponse):
    """409: it exists already, or changed meanwhile."""


class TooManyRequests(ErrorResponse):
    """429: the API throttles this client."""


class ServerError(ErrorResponse):
    """5xx: the API failed."""

    HINT = "its log has the cause"


_BY_STATUS: Mapping[int, type[ErrorResponse]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
}


def from_status(what: str, status: int, body: bytes) -> ErrorResponse:
    """The error of a response; `what` is the request, for the message."""
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ErrorResponse)
    why = reason(body)
    return kind(status, f"{what}: {status}" + (f": {why}" if why else ""))


def reason(body: bytes) -> str:
    """Why a request failed, from the body of an error response; empty if it has no reason."""
    try:
        found = _text(msgspec.json.decode(body))
    except msgspec.DecodeError:
        # Glance and proxies respond in HTML or plain text.
        found = _TAG.sub(" ", body.decode(errors="replace"))
    words = " ".join(found.split())
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}…"


def _text(value: object) -> str:
    """The first reason in a body such as {"forbidden": {"code": 403, "message": "…"}}."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next(filter(None, map(_text, value)), "")
    if not isinstance(value, dict):
        return ""
    for name in _DETAILS:
        if isinstance(value.get(name), str) and value[name]:
            return str(value[name])
    inner = (_text(each) for each in value.values() if isinstance(each, dict | list))
    return next(filter(None, inner), "")
