"""The words that kinds are written in: structs, constraints, rules, columns, registration.

A kind is a struct with attribute docstrings; CRD, reference page and JSON schema are generated
from it. A default that is not `None` becomes a default of the schema; `None` means "unset, follow
the operator's default". Pure: no I/O.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import Meta

import cobaltcore.api
from cobaltcore.runtime.meta import Kind, ObjectMeta, Struct

__all__ = [
    "AGE", "READY", "Column", "Cron", "Definition", "Duration", "HostPort", "Immutable", "Meta",
    "Name", "Port", "Quantity", "Resource", "Rule", "Scale", "Struct", "Timestamp", "Url",
    "checked", "definitions", "list_map", "list_set", "resource",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of the schema. `message` names the field and says what is allowed."""

    cel: str
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Paths of the scale subresource, for `kubectl scale` and autoscalers."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".status.selector"


READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
AGE = Column("Age", ".metadata.creationTimestamp", "date")

# Markers in `extra` are read by api/schema.py; msgspec checks the rest when an object is decoded.
Immutable = Meta(extra={"immutable": True})


def checked(*rules: Rule) -> Meta:
    """Attach CEL rules to a type; `self` is the value of the field."""
    return Meta(extra={f"rule {rule.cel}": rule for rule in rules})


def list_map(*keys: str) -> Meta:
    """Mark a list of objects whose items are told apart by `keys` (wire names)."""
    return Meta(extra={"list_map": keys})


def _cron_pattern() -> str:
    def field(value: str) -> str:
        item = rf"([*?]|{value}(-{value})?)(/[1-9][0-9]?)?"
        return f"{item}(,{item})*"

    names = "|[A-Za-z]{3}"
    ranges = (
        "[0-5]?[0-9]",
        "([01]?[0-9]|2[0-3])",
        "(0?[1-9]|[12][0-9]|3[01])",
        f"(0?[1-9]|1[0-2]{names})",
        f"([0-7]{names})",
    )
    macros = "@(yearly|annually|monthly|weekly|daily|midnight|hourly)"
    return f"^({macros}|{' +'.join(map(field, ranges))})$"


_CRON = _cron_pattern()


def list_set() -> Meta:
    """Mark a list of scalars without repetition or order."""
    return Meta(extra={"list_set": True})


Name = Annotated[
    str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]
Port = Annotated[int, Meta(ge=1, le=65535)]
Cron = Annotated[
    str,
    Meta(min_length=1, max_length=100),
    checked(
        Rule(
            f"self.matches(r'{_CRON}')",
            "must be a cron schedule of five fields (minute hour day month weekday) within their "
            "ranges, for example '0 2 * * *', or one of @hourly @daily @weekly @monthly @yearly",
        )
    ),
]
Duration = Annotated[str, Meta(max_length=32, pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")]
HostPort = Annotated[
    str, Meta(max_length=261, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:[0-9]{1,5}$")
]
Url = Annotated[str, Meta(max_length=2048, pattern=r"^https?://[^\s/]+(/\S*)?$")]
Quantity = Annotated[
    str | int,
    Meta(
        extra={
            "int_or_string": True,
            "pattern": r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
        }
    ),
]
Timestamp = Annotated[str, Meta(extra={"format": "date-time"})]

SpecT = TypeVar("SpecT")
StatusT = TypeVar("StatusT")


class Resource(Struct, Generic[SpecT, StatusT]):
    """An object of one of our kinds."""

    definition: ClassVar["Definition"]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: SpecT
    status: StatusT | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind as it is served: names, columns, subresources and the struct behind it."""

    kind: Kind
    struct: type[Resource[Any, Any]]
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None


_definitions: dict[Kind, Definition] = {}
ResourceT = TypeVar("ResourceT", bound=Resource[Any, Any])


def resource(
    kind: Kind,
    *,
    short_names: tuple[str, ...] = (),
    columns: tuple[Column, ...] = (READY, AGE),
    scale: Scale | None = None,
) -> Callable[[type[ResourceT]], type[ResourceT]]:
    """Register a struct as the shape of `kind`."""

    def register(struct: type[ResourceT]) -> type[ResourceT]:
        definition = Definition(kind, struct, short_names, columns, scale)
        struct.definition = definition
        _definitions[kind] = definition
        return struct

    return register


def definitions() -> list[Definition]:
    """All our kinds, found by importing every module of this package."""
    for module in pkgutil.iter_modules(cobaltcore.api.__path__, "cobaltcore.api."):
        importlib.import_module(module.name)
    return sorted(_definitions.values(), key=lambda d: (d.kind.group, d.kind.kind))
