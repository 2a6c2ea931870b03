"""What kinds are declared with: structs, constraints, rules, columns, registration.

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
    "AGE",
    "NAME_FITS",
    "PORT_NUMBER",
    "READY",
    "Column",
    "Definition",
    "Duration",
    "HostPort",
    "Immutable",
    "Meta",
    "Name",
    "Port",
    "Quantity",
    "Resource",
    "Rule",
    "Scale",
    "Size",
    "Struct",
    "Timestamp",
    "Url",
    "checked",
    "definitions",
    "list_map",
    "list_set",
    "resource",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of the schema. `message` names the field and what is allowed."""

    cel: str
    message: str
    field: str = ""
    on_create: bool = False
    """Whether it holds for new objects only: for what cannot change, so that stored objects stay
    writable."""


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
    """Mark a list of objects whose items are identified by `keys` (wire names)."""
    return Meta(extra={"list_map": keys})


def list_set() -> Meta:
    """Mark a list of scalars without repetition or order."""
    return Meta(extra={"list_set": True})


Name = Annotated[
    str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]
Port = Annotated[int, Meta(ge=1, le=65535)]
Duration = Annotated[str, Meta(max_length=32, pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")]
_HOST = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?"
PORT_NUMBER = (
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
"""Pattern of the ports 1 to 65535."""
HostPort = Annotated[str, Meta(max_length=261, pattern=rf"^{_HOST}:{PORT_NUMBER}$")]
Url = Annotated[
    str,
    Meta(
        max_length=2048,
        pattern=rf"^https?://({_HOST}|\[[0-9A-Fa-f:.]+\])(:{PORT_NUMBER})?(/[!-~]*)?$",
    ),
]
_UNIT = "(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?"
Quantity = Annotated[
    str | int,
    Meta(
        extra={
            "int_or_string": True,
            "maxLength": 32,
            "pattern": rf"^[0-9]+(\.[0-9]+)?{_UNIT}$",
        }
    ),
]
Size = Annotated[
    str | int,
    Meta(
        extra={
            "int_or_string": True,
            "minimum": 1,
            "maxLength": 32,
            "pattern": rf"^(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*){_UNIT}$",
        }
    ),
]
"""A quantity above zero."""
Timestamp = Annotated[str, Meta(extra={"format": "date-time"})]

NAME_LIMIT = 40
NAME_FITS = Rule(
    f"self.metadata.name.size() <= {NAME_LIMIT} && "
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    f"metadata.name: at most {NAME_LIMIT} of the characters a-z 0-9 -, the first one a letter, "
    "because the names of Services and the values of labels are built from it, which end at 63",
    on_create=True,
)
"""For kinds whose objects name others."""

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
