"""What a reconcile is going to do and to report, as data. Pure."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object

if TYPE_CHECKING:
    from cobaltcore.runtime.cluster import Cluster

StatusT_co = TypeVar("StatusT_co", covariant=True)
ACTION_LIMIT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Removal:
    """An object to delete now, for example a failed Job that is to run again."""

    kind: Kind
    key: Key
    propagation: Literal["Background", "Foreground"] = "Background"


@dataclass(frozen=True, slots=True)
class Action:
    """An effect outside of apply: idempotent, named, bounded."""

    name: str
    run: "Callable[[Cluster], Awaitable[None]]"
    limit: timedelta = ACTION_LIMIT


@dataclass(frozen=True, slots=True)
class Event:
    """An event on the object."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Report:
    """The status of another object that this planner looks after."""

    kind: Kind
    live: Object
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Release:
    """A finalizer to remove from another object, after all actions succeeded."""

    kind: Kind
    live: Object
    finalizer: str


@dataclass(frozen=True, slots=True)
class Link:
    """A part or a step: its verdict, the objects that it consists of, and what holds it up."""

    name: str
    verdict: Verdict
    objects: Sequence[Desired] = ()
    waits_for: tuple[str, ...] = ()
    """Links that are not ready and that it needs."""

    @property
    def is_broken(self) -> bool:
        """Whether it is not ready although nothing holds it up."""
        return not isinstance(self.verdict, Ready) and not self.waits_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[StatusT_co]):
    """Everything that follows from a scope."""

    verdict: Verdict
    """On the whole; becomes the condition Ready."""
    conditions: Sequence[Condition] = ()
    """The others, in order."""
    status: StatusT_co | None = None
    """Further fields; conditions and observedGeneration are filled in."""
    objects: Sequence[Desired] = ()
    links: Sequence[Link] = ()
    """The parts or steps that verdict and objects come from, for `cobalt why`."""
    keep: Collection[tuple[Kind, Key]] = ()
    """Children that are neither changed nor pruned."""
    prune: bool = False
    """Whether `objects` and `keep` are all children that may exist."""
    removals: Sequence[Removal] = ()
    reports: Sequence[Report] = ()
    actions: Sequence[Action] = ()
    releases: Sequence[Release] = ()
    events: Sequence[Event] = ()
    after: timedelta | None = None
    """When to look again even if nothing changes."""
    done: bool = False
    """Of a teardown: nothing is left to do, the finalizer may go."""

    @property
    def ready(self) -> bool:
        return isinstance(self.verdict, Ready)
