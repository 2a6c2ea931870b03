"""What one reconcile knows: the object, the cluster around it, the time. Pure.

Everything is read before planning starts, so that planning needs no client and no clock.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar, cast

from cobaltcore.api.base import Resource
from cobaltcore.engine.observed import Observed
from cobaltcore.runtime.changeset import ChangeSet
from cobaltcore.runtime.meta import Key, Object

SpecT_co = TypeVar("SpecT_co", covariant=True)
StatusT_co = TypeVar("StatusT_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a probe found: a value, or why there is none."""

    value: T | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Scope(Generic[SpecT_co, StatusT_co]):
    """The carrier of one reconcile."""

    live: Object
    resource: Resource[SpecT_co, StatusT_co]
    observed: Observed
    now: datetime
    random: Callable[[int], bytes]
    answers: Mapping[str, Answer[object]] = field(default_factory=dict)
    """Answers of the planner's probes, by their names."""
    changes: ChangeSet | None = None
    """What the objects of the first plan changed, if this scope was read after applying them."""
    memo: dict[Hashable, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def spec(self) -> SpecT_co:
        return self.resource.spec

    @property
    def status(self) -> StatusT_co | None:
        return self.resource.status

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def name(self) -> str:
        return self.resource.metadata.name

    @property
    def namespace(self) -> str:
        return self.resource.metadata.namespace

    def named(self, suffix: str) -> Key:
        """A child: the name of the object with a suffix."""
        return self.sibling(f"{self.name}-{suffix}")

    def sibling(self, name: str) -> Key:
        """Another object of the same namespace."""
        return Key(self.namespace, name)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Compute something at most once per reconcile."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast("T", self.memo[key])
