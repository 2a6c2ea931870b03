"""One object in one reconcile: its spec, its last status, and the resource in Keystone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from cobaltcore.api.foreign import korc
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Key, Object, key_of
from cobaltcore.runtime.timestamps import parse_timestamp
from cobaltlab.korc import verdict
from cobaltlab.korc.kinds import Attributes, Row
from cobaltlab.providers import durations
from cobaltlab.providers.failures import Blocked

Spec: TypeAlias = korc.Spec[dict[str, Any], dict[str, Any]]


@dataclass(slots=True)
class Scope:
    """Carries an object and what is found out about it through a reconcile."""

    row: Row
    live: Object
    spec: Spec
    observed: Attributes | None = field(default=None, repr=False)
    """The resource as Keystone has it."""
    applied_password: str = ""
    """Name of the Secret whose password the user has."""
    drift: str = ""
    """What another writer did to the resource, and how it was repaired."""

    @property
    def key(self) -> Key:
        return key_of(self.live)

    @property
    def id(self) -> str:
        """The id in Keystone, once it is in the status."""
        return str((self.live.get("status") or {}).get("id") or "")

    @property
    def reported(self) -> Attributes:
        """`status.resource` of the last reconcile."""
        found: Attributes = (self.live.get("status") or {}).get("resource") or {}
        return found

    @property
    def is_managed(self) -> bool:
        """Whether the resource is created and updated from the spec."""
        return self.spec.management_policy == "managed"

    @property
    def resource(self) -> dict[str, Any]:
        """`spec.resource`; empty for imports."""
        return self.spec.resource or {}

    @property
    def name(self) -> str:
        """The name in Keystone."""
        return str(self.resource.get("name") or self.key.name)

    @property
    def fields(self) -> dict[str, Any]:
        """The part of the spec with references: the resource, or the filter of an import."""
        if self.is_managed:
            return self.resource
        return (self.spec.import_.filter if self.spec.import_ else None) or {}


def read(row: Row, live: Object) -> Scope:
    """Read an object; raises Blocked for what the CRDs of the real operator reject."""
    try:
        spec = msgspec.convert(live.get("spec") or {}, Spec)
    except msgspec.ValidationError as error:
        raise _invalid(f"spec is invalid: {error}") from error
    managed = spec.management_policy == "managed"
    if managed and spec.resource is None:
        raise _invalid("resource must be specified when policy is managed")
    if managed and spec.import_ is not None:
        raise _invalid("import may not be specified when policy is managed")
    if not managed and spec.resource is not None:
        raise _invalid("resource may not be specified when policy is unmanaged")
    if not managed and not _has_one_selector(spec.import_):
        raise _invalid("import must have exactly one of id and filter when policy is unmanaged")
    _check_period(spec)
    return Scope(row, live, spec)


def is_settled(live: Object) -> bool:
    """Whether the last reconcile of this generation left nothing to do."""
    progressing = conditions.find(conditions.of(live), verdict.PROGRESSING)
    return (
        progressing is not None
        and progressing.status == "False"
        and progressing.observed_generation == live["metadata"]["generation"]
    )


def is_terminal(live: Object) -> bool:
    """Whether the last error needs a change of the object."""
    progressing = conditions.find(conditions.of(live), verdict.PROGRESSING)
    return progressing is not None and progressing.reason in korc.TERMINAL_REASONS


def resync_in(live: Object, now: datetime) -> timedelta | None:
    """Time until the next resync; None for never."""
    period = resync_period(live.get("spec") or {})
    if period is None or is_terminal(live):
        return None
    last = (live.get("status") or {}).get("lastSyncTime")
    return parse_timestamp(last) + period - now if last else timedelta()


def resync_period(spec: Mapping[str, Any]) -> timedelta | None:
    """`spec.resyncPeriod`; None for never."""
    try:
        return durations.parse(str(spec.get("resyncPeriod") or "0")) or None
    except ValueError:
        return None


def _check_period(spec: Spec) -> None:
    try:
        durations.parse(spec.resync_period or "0")
    except ValueError as error:
        raise _invalid(f"resyncPeriod: {error}") from error


def _has_one_selector(import_: korc.Import[dict[str, Any]] | None) -> bool:
    return import_ is not None and (import_.id is None) != (not import_.filter)


def _invalid(message: str) -> Blocked:
    return Blocked(message, reason=verdict.INVALID_CONFIGURATION)
