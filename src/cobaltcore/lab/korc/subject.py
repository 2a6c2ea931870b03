"""One object in one pass: its spec, what was told of it before, what is seen of it now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec

from cobaltcore.api.foreign import korc
from cobaltcore.lab.korc import verdict
from cobaltcore.lab.korc.kinds import Attributes, Row
from cobaltcore.lab.korc.verdict import Terminal
from cobaltcore.lab.providers import durations
from cobaltcore.runtime import conditions
from cobaltcore.runtime.clock import parse_timestamp
from cobaltcore.runtime.meta import Condition, Key, Object, key_of

Spec: TypeAlias = korc.Spec[dict[str, Any], dict[str, Any]]


@dataclass(slots=True)
class Subject:
    """The carrier of a pass."""

    row: Row
    live: Object
    spec: Spec
    seen: Attributes | None = field(default=None, repr=False)
    """The resource as Keystone has it."""
    applied_password: str = ""
    """The Secret whose password the user has."""

    @property
    def key(self) -> Key:
        """Name of the object."""
        return key_of(self.live)

    @property
    def id(self) -> str:
        """The resource's id in Keystone, if it was told before."""
        return str((self.live.get("status") or {}).get("id") or "")

    @property
    def told(self) -> Attributes:
        """The resource as it was told before."""
        found: Attributes = (self.live.get("status") or {}).get("resource") or {}
        return found

    @property
    def is_managed(self) -> bool:
        """Whether the resource is ours to make and to change."""
        return self.spec.management_policy == "managed"

    @property
    def resource(self) -> dict[str, Any]:
        """What is asked for, of a managed object."""
        return self.spec.resource or {}

    @property
    def name(self) -> str:
        """The resource's name in Keystone."""
        return str(self.resource.get("name") or self.key.name)

    @property
    def fields(self) -> dict[str, Any]:
        """Where the references are: the resource, or the filter of an import."""
        if self.is_managed:
            return self.resource
        return (self.spec.import_.filter if self.spec.import_ else None) or {}


def read(row: Row, live: Object) -> Subject:
    """Check what the real kinds' schemas check."""
    try:
        spec = msgspec.convert(live.get("spec") or {}, Spec)
    except msgspec.ValidationError as error:
        raise _invalid(f"the spec is invalid: {error}") from error
    managed = spec.management_policy == "managed"
    if managed and spec.resource is None:
        raise _invalid("resource must be specified when policy is managed")
    if managed and spec.import_ is not None:
        raise _invalid("import may not be specified when policy is managed")
    if not managed and spec.resource is not None:
        raise _invalid("resource may not be specified when policy is unmanaged")
    if not managed and not _is_whole(spec.import_):
        raise _invalid("import must have exactly one of id and filter when policy is unmanaged")
    _check_period(spec)
    return Subject(row, live, spec)


def told(live: Object) -> list[Condition]:
    """The conditions of an object."""
    found = (live.get("status") or {}).get("conditions") or []
    return msgspec.convert(found, list[Condition])


def is_settled(live: Object) -> bool:
    """Whether everything was told about this generation and nothing was to follow."""
    progressing = conditions.find(told(live), verdict.PROGRESSING)
    return (
        progressing is not None
        and progressing.status == "False"
        and progressing.observed_generation == live["metadata"]["generation"]
    )


def is_terminal(live: Object) -> bool:
    """Whether an error was told that does not go away by itself."""
    progressing = conditions.find(told(live), verdict.PROGRESSING)
    return progressing is not None and progressing.reason in korc.TERMINAL_REASONS


def resync_in(live: Object, now: datetime) -> timedelta | None:
    """Time until the resource is to be compared again; None for never."""
    period = resync_period(live.get("spec") or {})
    if period is None or is_terminal(live):
        return None
    last = (live.get("status") or {}).get("lastSyncTime")
    return parse_timestamp(last) + period - now if last else timedelta()


def resync_period(spec: Mapping[str, Any]) -> timedelta | None:
    """How often a resource is compared; None for never."""
    try:
        return durations.parse(str(spec.get("resyncPeriod") or "0")) or None
    except ValueError:
        return None


def _check_period(spec: Spec) -> None:
    try:
        durations.parse(spec.resync_period or "0")
    except ValueError as error:
        raise _invalid(f"resyncPeriod: {error}") from error


def _is_whole(import_: korc.Import[dict[str, Any]] | None) -> bool:
    return import_ is not None and (import_.id is None) != (not import_.filter)


def _invalid(message: str) -> Terminal:
    return Terminal(verdict.INVALID_CONFIGURATION, message)
