"""What makes an operator out of the one reconciler: a kind, what it watches, a pure plan."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cobaltcore.api.base import Resource
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.scope import Answer, Scope
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind, Object, WatchScope

if TYPE_CHECKING:
    from cobaltcore.engine.context import Context
    from cobaltcore.runtime.cluster import Cluster
    from cobaltcore.runtime.controller import KeysOf

ScopeT = TypeVar("ScopeT", bound=Scope[Any, Any])

IndexValues = Callable[[Object], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind whose changes concern a planner, and which keys a change concerns."""

    kind: Kind
    keys: "Callable[[Cluster, Kind], KeysOf]"
    """From the cluster and the planner's kind."""
    scope: WatchScope = EVERYTHING
    indexes: Mapping[str, IndexValues] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Child:
    """A kind that a planner creates objects of."""

    kind: Kind
    scope: WatchScope = EVERYTHING
    pruned: bool = True
    """Whether objects that are no longer desired are deleted; passwords of kept data are not."""


@dataclass(frozen=True, slots=True)
class Probe(Generic[ScopeT]):
    """A question to something outside of Kubernetes. A fault of it is data, not an error.

    Without a subject every reconcile asks it. With one it is asked when the subject changes and then
    periodically, and the object is reconciled when the answer changes.
    """

    name: str
    ask: "Callable[[ScopeT, Context], Awaitable[object]]"
    limit: timedelta = timedelta(seconds=10)
    subject: Callable[[ScopeT], Hashable | None] | None = None
    """What an answer is about; None: there is nothing to ask now."""
    period: Callable[[ScopeT, Answer[object]], timedelta] = lambda scope, answer: timedelta(
        minutes=1
    )
    """How soon to ask again after an answer."""
    decides: bool = True
    """Whether a plan depends on the answer; else without one it is as if the answer were good."""


class Planner(ABC, Generic[ScopeT]):
    """One kind: decides from a scope what should exist and what to report."""

    name: str
    """Of the controller, in logs and metrics."""
    manager: str
    """Field manager of everything that it writes."""
    resource: type[Resource[Any, Any]]
    scope: Callable[..., ScopeT]
    """Makes the carrier from the fields of Scope."""
    children: tuple[Child, ...] = ()
    watches: tuple[Watch, ...] = ()
    probes: tuple[Probe[ScopeT], ...] = ()
    finalizer: str = ""
    teardown_spec: Mapping[str, object] = {}
    """A spec that decodes, for the teardown of an object whose own spec does not."""
    reads_own_status: bool = False
    """Whether its own status writes have to wake it."""

    @property
    def kind(self) -> Kind:
        return self.resource.definition.kind

    def references(self, key: Key, spec: Any) -> Iterable[tuple[Kind, Key]]:
        """Objects that a spec names: a change of one wakes the object."""
        return ()

    def contents(self, scope: ScopeT) -> Iterable[tuple[Kind, Key]]:
        """Secrets and ConfigMaps whose data planning needs; the scope has the caches already."""
        return ()

    @abstractmethod
    def plan(self, scope: ScopeT) -> Plan[Any]:
        """Decide for an object that is to exist. Pure."""

    def teardown(self, scope: ScopeT) -> Plan[Any]:
        """Decide for an object that is being deleted. Pure."""
        return Plan(verdict=Ready("Deleted"), done=True)
