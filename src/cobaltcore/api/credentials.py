"""Secrets that are aggregated, and credentials that are rotated before they expire."""

from typing import Annotated, ClassVar, Literal

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    Timestamp,
    list_set,
    resource,
)
from cobaltcore.api.blocks import Conditions, Ref, SecretKey
from cobaltcore.runtime.meta import Kind

AGGREGATE = Kind("c5c3.io", "v1alpha1", "SecretAggregate", "secretaggregates")
ROTATION = Kind("c5c3.io", "v1alpha1", "CredentialRotation", "credentialrotations")


class Source(Struct):
    """A Secret to take keys from."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.rename) || !has(self.keys) || self.rename.all(key, key in self.keys)",
            "rename: every renamed key must also be in keys, or leave keys unset to take all",
            "rename",
        ),
    )

    secret_ref: Ref
    """The Secret, in the same namespace."""
    keys: Annotated[list[SecretKey], Meta(min_length=1, max_length=64), list_set()] | None = None
    """Keys to take. Unset: all."""
    rename: Annotated[dict[str, SecretKey], Meta(min_length=1, max_length=64)] | None = None
    """New names for keys: old name to new name. Others keep theirs."""


class Target(Struct):
    """The Secret to write."""

    name: Annotated[Name, Immutable]
    """Name of the Secret, in the same namespace. It is removed together with this object."""


class SecretAggregateSpec(Struct):
    """Sources and target of the aggregate."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.sources.all(a, self.sources.exists_one(b, b.secretRef.name == a.secretRef.name))",
            "sources: each Secret may be listed once",
            "sources",
        ),
        Rule(
            "self.sources.all(source, source.secretRef.name != self.target.name)",
            "target.name: cannot be one of the sources",
            "target",
        ),
    )

    sources: Annotated[list[Source], Meta(min_length=1, max_length=32)]
    """Secrets to take keys from. Two sources that bring the same key are refused with a message
    in the status; rename one of them."""
    target: Target
    """The Secret to write. It follows every change of the sources."""


class SecretAggregateStatus(Struct):
    """State of the aggregate."""

    conditions: Conditions = []
    """Conditions: SourcesResolved when all sources and keys exist, and Ready."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    last_aggregated: Timestamp | None = None
    """When the target last changed."""


@resource(
    AGGREGATE,
    short_names=("sagg",),
    columns=(READY, Column("Target", ".spec.target.name"), AGE),
)
class SecretAggregate(Resource[SecretAggregateSpec, SecretAggregateStatus]):
    """Keys of several Secrets in one Secret, so that a pod mounts only that."""


class RotationSchedule(Struct):
    """Lifetime of a credential, and when the next one is created."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.preRotationDays < self.intervalDays",
            "preRotationDays: must be less than intervalDays",
            "preRotationDays",
        ),
    )

    interval_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    """Days that a credential is valid."""
    pre_rotation_days: Annotated[int, Meta(ge=0, le=3649)] = 7
    """Days before expiry at which the next credential is created."""


class CredentialRotationSpec(Struct):
    """User whose credential is rotated, and the schedule."""

    target_service_user: Annotated[Name, Immutable]
    """K-ORC User in the same namespace whose credential is rotated. Cannot change."""
    rotation_type: Literal["applicationCredential"] = "applicationCredential"
    """What is rotated."""
    schedule: RotationSchedule = RotationSchedule()
    """Lifetime of a credential, and when the next one is created."""
    grace_period_days: Annotated[int, Meta(ge=0, le=365)] = 1
    """Days that the previous credential is kept after the new one is in use."""


class CredentialRef(Struct):
    """A credential object."""

    name: str
    """Name of the K-ORC ApplicationCredential."""


class Credential(Struct):
    """An application credential of Keystone."""

    id: str | None = None
    """ID in Keystone."""
    created_at: Timestamp | None = None
    """Creation time."""
    expires_at: Timestamp | None = None
    """Expiry."""


class CredentialRotationStatus(Struct):
    """Credential in use, and the next rotation."""

    conditions: Conditions = []
    """Conditions: RotationScheduled when the next date is set, and Ready when the credential works."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    last_rotation: Timestamp | None = None
    """Creation time of the credential in use."""
    next_rotation: Timestamp | None = None
    """Time at which the next credential is created."""
    current_credential_ref: CredentialRef | None = None
    """The credential in use."""
    current_credential: Credential | None = None
    """The application credential in use."""
    previous_credential_ref: CredentialRef | None = None
    """The previous credential, while it is kept."""


@resource(
    ROTATION,
    short_names=("crot",),
    columns=(
        READY,
        Column("User", ".spec.targetServiceUser"),
        Column("Last", ".status.lastRotation", "date"),
        Column("Next", ".status.nextRotation"),
        AGE,
    ),
)
class CredentialRotation(Resource[CredentialRotationSpec, CredentialRotationStatus]):
    """Rotates a service user's credential before it expires, without a failed request."""
