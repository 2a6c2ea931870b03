"""What a diagnosis knows: objects of the cluster, and what a reconcile of ours would do. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import EVENT
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.prospect import Prospect
from cobaltcore.runtime.meta import Key, Kind, Object, key_of


class Named(NamedTuple):
    """One object of a known kind, whether it exists or not."""

    kind: Kind
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.key.name!r}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something does not work: the reason that Kubernetes or a condition has for it."""

    at: Named
    reason: str
    message: str
    command: str = ""
    """What to run next."""
    is_symptom: bool = False
    """A program fails: something that it depends on may be the cause."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """An object that does not work, and the cause if nothing else is found."""

    cause: Cause
    below: Sequence[Named] = ()
    """What it consists of."""
    depends_on: Sequence[Named] = ()
    """What its programs need: the cause if all that is known is that they fail."""


@dataclass(frozen=True)
class Facts:
    """A copy of what concerns the objects of ours."""

    now: datetime
    objects: Mapping[Kind, Mapping[Key, Object]]
    prospects: Mapping[Named, Prospect] = field(default_factory=dict)
    """What a reconcile of each object of ours would find and do."""
    unserved: frozenset[Kind] = frozenset()
    """Kinds that operators know and the API server does not serve."""
    required: frozenset[Kind] = frozenset()
    """Those of them without which operators do not start."""
    expiries: Mapping[Key, datetime] = field(default_factory=dict)
    """Until when the certificates in Secrets are valid."""
    platform: Sequence[Named] = ()
    """Deployments that run operators."""

    def get(self, kind: Kind, key: Key) -> Object | None:
        return self.objects.get(kind, {}).get(key)

    def of(self, kind: Kind, namespace: str = "") -> list[Object]:
        """All objects of a kind, or those of one namespace."""
        known = self.objects.get(kind, {})
        return [obj for key, obj in known.items() if namespace in ("", key.namespace)]

    def plan(self, named: Named) -> Plan[object] | None:
        prospect = self.prospects.get(named)
        return prospect.plan if prospect else None

    def owned(self, obj: Object, kinds: Iterable[Kind]) -> list[Named]:
        """Objects of some kinds that belong to an object."""
        found = self._by_owner.get(obj["metadata"].get("uid", ""), ())
        return [each for kind in kinds for each in found if each.kind == kind]

    def warning(self, named: Named, *reasons: str) -> str:
        """The newest warning about an object."""
        found = [e for e in self._warnings.get(named[1], ()) if _is_about(e, named.kind, reasons)]
        newest = max(found, key=event_time, default={})
        return str(newest.get("note") or "")

    @cached_property
    def _by_owner(self) -> Mapping[str, list[Named]]:
        found: dict[str, list[Named]] = {}
        for kind, known in self.objects.items():
            for key, obj in known.items():
                for owner in obj["metadata"].get("ownerReferences") or ():
                    found.setdefault(owner["uid"], []).append(Named(kind, key))
        return found

    @cached_property
    def _warnings(self) -> Mapping[Key, list[Object]]:
        found: dict[Key, list[Object]] = {}
        for each in self.of(EVENT):
            if each.get("type") == "Warning":
                about = each.get("regarding") or {}
                key = Key(about.get("namespace", ""), about.get("name", ""))
                found.setdefault(key, []).append(each)
        return found


def named(kind: Kind, obj: Object) -> Named:
    return Named(kind, key_of(obj))


def event_time(event: Object) -> str:
    """When an event was last seen, in any version of the API."""
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((each for each in times if each), "")


def _is_about(event: Object, kind: Kind, reasons: tuple[str, ...]) -> bool:
    about = event.get("regarding") or {}
    return about.get("kind") == kind.kind and (not reasons or event.get("reason") in reasons)
