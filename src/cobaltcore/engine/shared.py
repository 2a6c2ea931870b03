"""Databases and virtual hosts of a shared server: each belongs to one object. Pure.

Servers know them by a name, not by the object that asked for them: a second object with the same
name would read and write the data of the first, and delete it with itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec

from cobaltcore.api.base import Struct
from cobaltcore.api.foreign import manifest, mariadb, rabbitmq
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.desired import names
from cobaltcore.engine.verdict import DependencyPending
from cobaltcore.runtime.meta import Desired, Kind, Object

_LOOK_AGAIN = timedelta(minutes=1)
"""Changes of another service's objects do not wake this one."""
SpecT = TypeVar("SpecT", bound=Struct)


@dataclass(frozen=True, slots=True)
class Named(Generic[SpecT]):
    """Something on a server that objects of `kind` create."""

    kind: Kind
    spec: type[SpecT]
    place: Callable[[SpecT], tuple[str | None, str]]
    """The server, and the name on it."""
    noun: str
    field: str
    reason: str

    def place_of(self, obj: Object) -> tuple[str | None, str] | None:
        try:
            return self.place(manifest.spec_of(obj, self.spec))
        except msgspec.ValidationError:
            return None


DATABASES = Named(
    mariadb.DATABASE,
    mariadb.DatabaseSpec,
    lambda spec: (spec.maria_db_ref.name, spec.name),
    "database",
    "spec.database",
    "DatabaseInUse",
)
VIRTUAL_HOSTS = Named(
    rabbitmq.VHOST,
    rabbitmq.VhostSpec,
    lambda spec: (spec.rabbitmq_cluster_reference.name, spec.name),
    "virtual host",
    "spec.messaging.virtualHost",
    "VirtualHostInUse",
)


def check(scope: AnyScope, named: Named[SpecT], objects: Iterable[Desired]) -> None:
    """Raise DependencyPending if one of the objects is for what belongs to another one."""
    wanted = [each for each in objects if each.kind == named.kind]
    text = _twice(named, wanted) or _foreign(scope, named, wanted)
    if text:
        message = f"{text}; choose another name in {named.field}"
        raise DependencyPending(named.reason, message, after=_LOOK_AGAIN)


def _twice(named: Named[SpecT], wanted: Iterable[Desired]) -> str:
    seen: dict[str, str] = {}
    for each in wanted:
        child, name = each.key.name, each.body["spec"]["name"]
        if child in seen:
            kind = named.kind.kind
            return f"{named.noun}s {seen[child]!r} and {name!r} would both be {kind} {child!r}"
        seen[child] = name
    return ""


def _foreign(scope: AnyScope, named: Named[SpecT], wanted: Iterable[Desired]) -> str:
    known = scope.observed.list(named.kind, scope.namespace)
    places = [(named.place_of(each), each) for each in known]
    for each in wanted:
        place = named.place_of(dict(each.body))
        own = next((o for o in known if o["metadata"]["name"] == each.key.name), None)
        for found, other in places:
            if found != place or not _is_of_another(other, each):
                continue
            if own is None or _age(other) < _age(own):
                kind, name = named.kind.kind, other["metadata"]["name"]
                return (
                    f"{named.noun} {each.body['spec']['name']!r} belongs to "
                    f"{kind} {name!r}{_owner(other)}"
                )
    return ""


def _is_of_another(other: Object, wanted: Desired) -> bool:
    """Whether it was created for another object; what a person created may be meant for this one."""
    labels, own = other["metadata"].get("labels") or {}, wanted.body["metadata"]["labels"]
    if other["metadata"]["name"] == wanted.key.name or not labels.get(names.INSTANCE):
        return False
    return any(labels.get(each) != own[each] for each in (names.NAME, names.INSTANCE))


def _age(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]


def _owner(other: Object) -> str:
    labels = other["metadata"]["labels"]
    return f" of {labels.get(names.NAME)} {labels[names.INSTANCE]!r}"
