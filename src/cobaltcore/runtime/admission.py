"""Answers to the API server's admission and conversion reviews. No network here.

A defaulting function returns the object as it should be, a validating one returns a Decision, a
converting one returns the object in the wanted version. What they raise becomes a refusal whose
text points to our log, because the exception itself may hold what a user must not see.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec

from cobaltcore.runtime import jsonpatch, log
from cobaltcore.runtime.meta import Kind, Object, Struct

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

_log = log.get("webhook")


class GroupVersionKind(Struct):
    """The kind as which an object is reviewed."""

    group: str = ""
    version: str
    kind: str


class UserInfo(Struct):
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []


class AdmissionRequest(Struct):
    """One object on its way into the cluster."""

    uid: str
    kind: GroupVersionKind
    operation: Operation
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    object: Object | None = None
    """The object as asked for; none on DELETE."""
    old_object: Object | None = None
    """The object as stored; none on CREATE."""
    dry_run: bool = False

    def __str__(self) -> str:
        name = self.name or "(generated name)"
        return (
            f"{self.kind.kind} {self.namespace}/{name}"
            if self.namespace
            else f"{self.kind.kind} {name}"
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an object may enter; people read the message of a refusal and all warnings."""

    allowed: bool = True
    message: str = ""
    code: int = 403
    warnings: tuple[str, ...] = ()


ALLOWED = Decision()

Defaulting: TypeAlias = Callable[[AdmissionRequest], Awaitable[Object]]
Validating: TypeAlias = Callable[[AdmissionRequest], Awaitable[Decision]]
Converting: TypeAlias = Callable[[Object, str], Awaitable[Object]]
Answer: TypeAlias = Callable[[bytes], Awaitable[bytes]]


def denied(message: str, *, code: int = 403, warnings: tuple[str, ...] = ()) -> Decision:
    """Refuse an object; the message says which field is wrong and what would be right."""
    return Decision(False, message, code, warnings)  # noqa: FBT003 field of the record itself


class AdmissionReview(Struct):
    """What the API server sends to defaulting and validating webhooks."""

    api_version: str
    request: AdmissionRequest


class _ConversionRequest(Struct):
    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[Object]


class ConversionReview(Struct):
    """What the API server sends to converting webhooks."""

    api_version: str
    request: _ConversionRequest


class _NoConversion(Exception):
    pass


_ADMISSION = msgspec.json.Decoder(AdmissionReview)
_CONVERSION = msgspec.json.Decoder(ConversionReview)


async def default(function: Defaulting, body: bytes) -> bytes:
    """Answer a mutating review with the patch from the object as sent to what `function` makes."""
    request = _ADMISSION.decode(body).request
    try:
        after = await function(request)
    except Exception as error:  # noqa: BLE001 whatever a handler raises becomes a refusal
        return _admission(request, _broken(request, error))
    # Decoded once more, because the handler may have changed the first one in place.
    patch = jsonpatch.diff(_ADMISSION.decode(body).request.object, after)
    return _admission(request, ALLOWED, patch)


async def validate(function: Validating, body: bytes) -> bytes:
    """Answer a validating review with what `function` decides."""
    request = _ADMISSION.decode(body).request
    try:
        decision = await function(request)
    except Exception as error:  # noqa: BLE001 whatever a handler raises becomes a refusal
        decision = _broken(request, error)
    return _admission(request, decision)


async def convert(functions: dict[tuple[str, str], Converting], body: bytes) -> bytes:
    """Answer a conversion review; objects that have the wanted version stay as they are."""
    request = _CONVERSION.decode(body).request
    wanted = request.desired_api_version
    result: Object = {"status": "Success"}
    converted: list[Object] = []
    try:
        converted = [await _convert(functions, obj, wanted) for obj in request.objects]
    except _NoConversion as error:
        result = {"status": "Failed", "message": str(error)}
    except Exception as error:  # noqa: BLE001 whatever a handler raises becomes a failure
        _log.error("conversion failed", wanted=wanted, uid=request.uid, exc_info=error)
        message = (
            f"conversion to {wanted} failed; the operator's log has the cause ({request.uid})"
        )
        result = {"status": "Failed", "message": message}
    response = {"uid": request.uid, "convertedObjects": converted, "result": result}
    return _review("apiextensions.k8s.io/v1", "ConversionReview", response)


async def _convert(
    functions: dict[tuple[str, str], Converting], obj: Object, wanted: str
) -> Object:
    if obj["apiVersion"] == wanted:
        return obj
    function = functions.get((wanted.partition("/")[0], obj["kind"]))
    if function is None:
        raise _NoConversion(
            f"{obj['kind']} cannot be converted from {obj['apiVersion']} to {wanted}"
        )
    return await function(obj, wanted)


def _broken(request: AdmissionRequest, error: Exception) -> Decision:
    _log.error("admission failed", object=str(request), uid=request.uid, exc_info=error)
    return denied(
        f"{request} could not be checked because of an internal error; "
        f"the operator's log has the cause (request {request.uid})",
        code=500,
    )


def _admission(
    request: AdmissionRequest, decision: Decision, patch: list[jsonpatch.Operation] | None = None
) -> bytes:
    response: Object = {"uid": request.uid, "allowed": decision.allowed}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if not decision.allowed:
        response["status"] = {"code": decision.code, "message": decision.message}
    if patch:
        response["patchType"] = "JSONPatch"
        # msgspec writes bytes as base64, which is the form the API server wants.
        response["patch"] = msgspec.json.encode(patch)
    return _review("admission.k8s.io/v1", "AdmissionReview", response)


def _review(api_version: str, kind: str, response: Object) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind, "response": response})


class Webhooks:
    """Which function is asked about which kind, and under which path."""

    def __init__(self) -> None:
        self.defaulting_functions: dict[Kind, Defaulting] = {}
        self.validating_functions: dict[Kind, Validating] = {}
        self._converting: dict[tuple[str, str], Converting] = {}

    def defaulting(self, kind: Kind, function: Defaulting) -> None:
        """Let `function` complete every new or changed object of a kind."""
        _register(self.defaulting_functions, kind, function)

    def validating(self, kind: Kind, function: Validating) -> None:
        """Let `function` decide about every new, changed or deleted object of a kind."""
        _register(self.validating_functions, kind, function)

    def converting(self, kind: Kind, function: Converting) -> None:
        """Let `function` convert a kind between all its versions."""
        _register(self._converting, (kind.group, kind.kind), function)

    def routes(self) -> dict[str, Answer]:
        """Every path that is served, and what answers a review that is posted there."""
        routes: dict[str, Answer] = {CONVERT_PATH: partial(convert, self._converting)}
        for kind, defaulting in self.defaulting_functions.items():
            routes[default_path(kind)] = partial(default, defaulting)
        for kind, validating in self.validating_functions.items():
            routes[validate_path(kind)] = partial(validate, validating)
        return routes


CONVERT_PATH = "/convert"


def default_path(kind: Kind) -> str:
    """Where the defaulting function of a kind is served."""
    return f"/default/{kind.group or 'core'}/{kind.version}/{kind.plural}"


def validate_path(kind: Kind) -> str:
    """Where the validating function of a kind is served."""
    return f"/validate/{kind.group or 'core'}/{kind.version}/{kind.plural}"


def _register(functions: dict[Any, Any], key: object, function: object) -> None:
    if key in functions:
        raise ValueError(f"{key} has a webhook already")
    functions[key] = function
