"""The few Kubernetes types that everything else is built on. Pure: no I/O.

Objects are plain mappings, exactly as the API server sent them; they are converted to typed
structs where fields are read by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, dataclass_transform

import msgspec

Object: TypeAlias = dict[str, Any]
ConditionStatus = Literal["True", "False", "Unknown"]
APPLIED = "c5c3.io/applied"
"""Annotation of every object that is ours: the digest of what was last applied."""


class _KeywordOnly(msgspec.StructMeta):
    """Make every field keyword-only, so that required ones may follow optional ones."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "_KeywordOnly":
        options.setdefault("kw_only", True)
        return super().__new__(mcls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Struct(
    msgspec.Struct, metaclass=_KeywordOnly, frozen=True, omit_defaults=True, rename="camel"
):
    """Base of every typed object: frozen, camelCase on the wire, defaults left out."""


class Kind(NamedTuple):
    """One served resource type, enough to build its URLs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of an object of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class WatchScope:
    """What part of a kind is watched: a namespace or all, some labels or all, all fields or not."""

    namespace: str = ""
    selector: str = ""
    metadata_only: bool = False
    optional: bool = False
    """The kind may not be served: then there are no objects of it until it is."""


EVERYTHING = WatchScope()


class Key(NamedTuple):
    """Namespace and name of one object of a known kind; no namespace if it is cluster-scoped."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Desired(NamedTuple):
    """The desired state of one object."""

    kind: Kind
    body: Mapping[str, Any]
    once: bool = False
    """Create it if it does not exist, never change it: Jobs are immutable."""
    kept: bool = False
    """It outlives its owner, and an owner that wants it later adopts it."""
    owner: Object | None = None
    """Who it belongs to, if not the object that is reconciled."""
    adopts: tuple[str, ...] | None = None
    """Take over an existing one: without an owner, or of these kinds. None: only if it was ours before."""

    @property
    def key(self) -> Key:
        return key_of(self.body)


class OwnerReference(Struct):
    """An entry of `metadata.ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct):
    """The part of `metadata` that controllers read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class Condition(Struct):
    """One observed fact about an object."""

    type: str
    """Name of the fact, for example Ready. Unique within the list."""
    status: ConditionStatus
    """True, False, or Unknown while it cannot be determined."""
    reason: str = ""
    """Machine-readable cause of the last transition, in PascalCase."""
    message: str = ""
    """One sentence for people: what is the case and, if something must be done, what."""
    last_transition_time: str = ""
    """When the status last changed."""
    observed_generation: int | None = None
    """The generation of the object that this fact was observed at."""


def key_of(obj: Mapping[str, Any]) -> Key:
    """The namespace and name of an object."""
    meta = obj["metadata"]
    return Key(meta.get("namespace", ""), meta["name"])


def ownership(owner: Mapping[str, Any]) -> str:
    """The value of the index `owner` of dependents of an object.

    They are in its namespace: a user who may write in another one cannot make objects its dependents.
    """
    meta = owner["metadata"]
    return f"{meta.get('namespace', '')}/{meta['uid']}"


def owner_reference(owner: Mapping[str, Any]) -> dict[str, Any]:
    """The reference of a child to its controlling owner."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
