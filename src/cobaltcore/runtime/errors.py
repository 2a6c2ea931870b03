"""Errors between this process and the API server.

RuntimeFault                 a sentence for people, optionally with a hint
├── ConfigError              kubeconfig or in-cluster settings cannot be used
├── Unreachable              no response: refused, timed out, reset, TLS failure
├── KindMissing              the server does not serve this kind (CRD not installed)
├── ObjectFault              a cached object that cannot be indexed
├── LeaseExpired             this process is the leader no more and must not write
└── ApiError                 a response with an error status
    ├── BadRequest  400      ├── Unauthorized 401   ├── Forbidden 403
    ├── NotFound    404      ├── Conflict     409   ├── Gone      410
    ├── Invalid     422      ├── TooManyRequests 429
    └── ServerError 5xx
AlreadyExists is a Conflict.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec


class RuntimeFault(Exception):
    """Base of all errors of this package; `hint` is what the user can do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(RuntimeFault):
    """Kubeconfig or in-cluster settings cannot be used."""


class Unreachable(RuntimeFault):
    """The API server did not respond."""


class KindMissing(RuntimeFault):
    """The API server does not serve this kind."""


class ObjectFault(RuntimeFault):
    """A cached object cannot be indexed."""


class LeaseExpired(RuntimeFault):
    """This process must not write: its lease may be held by another."""


class ApiError(RuntimeFault):
    """The API server responded with an error."""

    HINT: ClassVar[str] = ""

    def __init__(self, status: int, reason: str, message: str, *, retry_after: float = 0) -> None:
        super().__init__(message, self.HINT)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class BadRequest(ApiError):
    """400: the request itself is malformed."""


class Unauthorized(ApiError):
    """401: the credentials are not accepted."""

    HINT = "the token or certificate in the kubeconfig has expired or is of another cluster"


class Forbidden(ApiError):
    """403: the credentials do not allow this."""

    HINT = "bind a role that allows it to this user, or use the kubeconfig of another one"


class NotFound(ApiError):
    """404: no such object or path."""


class Conflict(ApiError):
    """409: the object changed meanwhile, or a precondition failed."""


class AlreadyExists(Conflict):
    """409 on create: an object of that name exists."""


class Gone(ApiError):
    """410: the resource version is too old to watch or list from."""


class Invalid(ApiError):
    """422: the object violates the schema or a rule; the message names the field."""


class TooManyRequests(ApiError):
    """429: the server throttles this client."""


class ServerError(ApiError):
    """5xx: the server failed."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def from_status(code: int, body: bytes, *, retry_after: float = 0) -> ApiError:
    """Turn an error response into the matching exception."""
    details = _decode(body)
    reason = str(details.get("reason") or "")
    message = str(details.get("message") or body[:500].decode(errors="replace") or f"HTTP {code}")
    kind = _BY_STATUS.get(code, ServerError if code >= 500 else ApiError)
    if code == 409 and reason == "AlreadyExists":
        kind = AlreadyExists
    return kind(code, reason, message, retry_after=retry_after)


def from_watch(status: Mapping[str, Any]) -> ApiError:
    """Turn the Status object of a watch's ERROR event into an exception."""
    code = int(status.get("code") or 500)
    kind = _BY_STATUS.get(code, ServerError)
    return kind(
        code, str(status.get("reason") or ""), str(status.get("message") or "watch failed")
    )


def _decode(body: bytes) -> Mapping[str, Any]:
    try:
        decoded = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
