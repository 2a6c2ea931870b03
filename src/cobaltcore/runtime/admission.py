"""Responses to admission and conversion reviews. No network here.

A defaulting function returns the object with defaults, a validating one returns a Decision, a
converting one returns the object in the desired version. An exception denies the request with a
text that refers to the operator's log, because the exception may contain secrets.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec

from cobaltcore.runtime import jsonpatch, log
from cobaltcore.runtime.meta import Kind, Object, Struct

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

_log = log.get("webhook")


class GroupVersionKind(Struct):
    """The kind and version in which an object is reviewed."""

    group: str = ""
    version: str
    kind: str


class UserInfo(Struct):
    """The user who sent the request."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []


class AdmissionRequest(Struct):
    """One object to be created, updated or deleted."""

    uid: str
    kind: GroupVersionKind
    operation: Operation
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    object: Object | None = None
    """The object as requested; None on DELETE."""
    old_object: Object | None = None
    """The object as stored; None on CREATE."""
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
    """Whether a request is allowed; users see the message of a denial and all warnings."""

    allowed: bool = True
    message: str = ""
    code: int = 403
    warnings: tuple[str, ...] = ()


ALLOWED = Decision()

Defaulting: TypeAlias = Callable[[AdmissionRequest], Awaitable[Object]]
Validating: TypeAlias = Callable[[AdmissionRequest], Awaitable[Decision]]
Advising: TypeAlias = Callable[[Object], Iterable[str]]
Converting: TypeAlias = Callable[[Object, str], Awaitable[Object]]
Handler: TypeAlias = Callable[[bytes], Awaitable[bytes]]


async def _advise(function: Advising, request: AdmissionRequest) -> Decision:
    warnings = function(request.object) if request.object is not None else ()
    return Decision(warnings=tuple(warnings))


def denied(message: str, *, code: int = 403, warnings: tuple[str, ...] = ()) -> Decision:
    """Deny a request; the message names the invalid field and a valid value."""
    return Decision(False, message, code, warnings)  # noqa: FBT003 the field `allowed`


def in_turn(*functions: Validating) -> Validating:
    """Ask several functions; the first denial counts, with the warnings so far."""

    async def validate(request: AdmissionRequest) -> Decision:
        warnings: tuple[str, ...] = ()
        for function in functions:
            decision = await function(request)
            warnings += decision.warnings
            if not decision.allowed:
                return replace(decision, warnings=warnings)
        return Decision(warnings=warnings)

    return validate


class AdmissionReview(Struct):
    """The request of defaulting and validating webhooks."""

    api_version: str
    request: AdmissionRequest


class _ConversionRequest(Struct):
    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[Object]


class ConversionReview(Struct):
    """The request of conversion webhooks."""

    api_version: str
    request: _ConversionRequest


class _NoConversion(Exception):
    pass


_ADMISSION = msgspec.json.Decoder(AdmissionReview)
_CONVERSION = msgspec.json.Decoder(ConversionReview)


async def default(function: Defaulting, body: bytes) -> bytes:
    """Respond to a mutating review with the patch from the sent object to the defaulted one."""
    request = _ADMISSION.decode(body).request
    try:
        after = await function(request)
    except Exception as error:  # noqa: BLE001 any exception of a handler denies the request
        return _admission(request, _internal_error(request, error))
    # Decoded again, because the handler may have changed the first one in place.
    patch = jsonpatch.diff(_ADMISSION.decode(body).request.object, after)
    return _admission(request, ALLOWED, patch)


async def validate(function: Validating, body: bytes) -> bytes:
    """Respond to a validating review with the decision of `function`."""
    request = _ADMISSION.decode(body).request
    try:
        decision = await function(request)
    except Exception as error:  # noqa: BLE001 any exception of a handler denies the request
        decision = _internal_error(request, error)
    return _admission(request, decision)


async def convert(functions: dict[tuple[str, str], Converting], body: bytes) -> bytes:
    """Respond to a conversion review; objects of the desired version stay unchanged."""
    request = _CONVERSION.decode(body).request
    desired = request.desired_api_version
    result: Object = {"status": "Success"}
    converted: list[Object] = []
    try:
        converted = [await _convert(functions, obj, desired) for obj in request.objects]
    except _NoConversion as error:
        result = {"status": "Failed", "message": str(error)}
    except Exception as error:  # noqa: BLE001 any exception of a handler fails the conversion
        _log.error("conversion failed", desired=desired, uid=request.uid, exc_info=error)
        message = (
            f"conversion to {desired} failed with an internal error; "
            f"see the operator's log (request {request.uid})"
        )
        result = {"status": "Failed", "message": message}
    response = {"uid": request.uid, "convertedObjects": converted, "result": result}
    return _review("apiextensions.k8s.io/v1", "ConversionReview", response)


async def _convert(
    functions: dict[tuple[str, str], Converting], obj: Object, desired: str
) -> Object:
    if obj["apiVersion"] == desired:
        return obj
    function = functions.get((desired.partition("/")[0], obj["kind"]))
    if function is None:
        raise _NoConversion(
            f"{obj['kind']} cannot be converted from {obj['apiVersion']} to {desired}"
        )
    return await function(obj, desired)


def _internal_error(request: AdmissionRequest, error: Exception) -> Decision:
    _log.error("admission failed", object=str(request), uid=request.uid, exc_info=error)
    return denied(
        f"{request} could not be checked because of an internal error; "
        f"see the operator's log (request {request.uid})",
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
        # msgspec encodes bytes as base64, as the API server expects.
        response["patch"] = msgspec.json.encode(patch)
    return _review("admission.k8s.io/v1", "AdmissionReview", response)


def _review(api_version: str, kind: str, response: Object) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind, "response": response})


class Webhooks:
    """The webhook functions of all kinds, and their paths."""

    def __init__(self) -> None:
        self.defaulting_functions: dict[Kind, Defaulting] = {}
        self.validating_functions: dict[Kind, Validating] = {}
        self.optional: set[Kind] = set()
        """Kinds whose objects are accepted while the webhook server does not answer."""
        self._converting: dict[tuple[str, str], Converting] = {}

    def defaulting(self, kind: Kind, function: Defaulting) -> None:
        """Call `function` for every created or updated object of a kind."""
        _register(self.defaulting_functions, kind, function)

    def validating(self, kind: Kind, function: Validating, *, optional: bool = False) -> None:
        """Call `function` for every created, updated or deleted object of a kind."""
        _register(self.validating_functions, kind, function)
        if optional:
            self.optional.add(kind)

    def advising(self, kind: Kind, function: Advising) -> None:
        """Accept every object of a kind, and return the warnings of `function`."""
        self.validating(kind, partial(_advise, function), optional=True)

    def converting(self, kind: Kind, function: Converting) -> None:
        """Call `function` to convert a kind between all its versions."""
        _register(self._converting, (kind.group, kind.kind), function)

    def routes(self) -> dict[str, Handler]:
        """The handler of every path."""
        routes: dict[str, Handler] = {CONVERT_PATH: partial(convert, self._converting)}
        for kind, defaulting in self.defaulting_functions.items():
            routes[default_path(kind)] = partial(default, defaulting)
        for kind, validating in self.validating_functions.items():
            routes[validate_path(kind)] = partial(validate, validating)
        return routes


CONVERT_PATH = "/convert"


def default_path(kind: Kind) -> str:
    return f"/default/{kind.group or 'core'}/{kind.version}/{kind.plural}"


def validate_path(kind: Kind) -> str:
    return f"/validate/{kind.group or 'core'}/{kind.version}/{kind.plural}"


def _register(functions: dict[Any, Any], key: object, function: object) -> None:
    if key in functions:
        raise ValueError(f"{key} already has a webhook")
    functions[key] = function
