"""The reconciler of all kinds of servers: MariaDB, RabbitmqCluster, Valkey.

A definition plans the objects of a server; nothing here knows SQL or queues.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET, SERVICE, STATEFUL_SET
from cobaltcore.engine.desired import workload
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Source, itself, owner, referrers
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, Struct, WatchScope, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.providers.failures import Blocked, Failure
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler

_CHILDREN = (CONFIG_MAP, SERVICE, STATEFUL_SET)
MANAGES = (*_CHILDREN, SECRET)
"""Kinds that servers consist of."""
UNSUPPORTED = "UnsupportedInLab"


@dataclass(frozen=True, slots=True)
class Observed:
    """Ready pods of the current revision, or why there are none."""

    failure: Failure | None = None
    ready: int = 0
    replicas: int = 0
    rolled_out: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The objects of a server, and the parts of its spec that the lab does not support."""

    objects: Iterable[Desired]
    unsupported: Sequence[str] = ()


class Secrets:
    """Secrets of servers: read, or generated once."""

    def __init__(self, cluster: Cluster, applier: Applier) -> None:
        self._cluster = cluster
        self._applier = applier

    async def read(self, key: Key) -> Object | None:
        """A Secret with its content, or None."""
        return await self._cluster.read(SECRET, key)

    async def create_once(self, desired: Desired, owner_: Object) -> Object | None:
        """Create a Secret unless it exists; an existing one keeps its content."""
        existing = await self.read(desired.key)
        if existing is not None:
            return existing
        await self._applier.apply([desired._replace(once=True)], owner=owner_)
        return await self.read(desired.key)


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind of servers."""

    kind: Kind
    name: str
    """Of the controller, the image's component, and the events."""
    plan: Callable[[Secrets, Object, str, Object | None], Awaitable[Plan]]
    """From Secrets, the object, the image and the live StatefulSet to the desired objects."""
    status: Callable[[Object, Observed, datetime], Struct]
    stateful_set: Callable[[Key], Key] = lambda key: key
    secrets: Callable[[Object], Iterable[str]] = lambda obj: ()
    """Secrets that an object names and that others may change."""


class ServerReconciler(Reconciler):
    """Runs the servers of one kind."""

    def __init__(self, context: Context, definition: Definition) -> None:
        self._definition = definition
        self._image = context.images.get(definition.name, "")
        kind = definition.kind
        context.cluster.informer(kind).add_index("secret", definition.secrets)
        super().__init__(
            context,
            kind,
            [
                Source(kind, itself),
                *(Source(child, owner(kind)) for child in _CHILDREN),
                Source(SECRET, self._of_secret, WatchScope(metadata_only=True)),
            ],
            name=definition.name,
        )
        self._secrets = Secrets(context.cluster, self._applier)

    async def apply(self, live: Object) -> None:
        image = self._image or (live.get("spec") or {}).get("image")
        if not image:
            raise Blocked(
                f"spec.image is not set and the lab has no image for {self._definition.name!r}",
                f"start `cobalt providers` with --image {self._definition.name}=REFERENCE",
            )
        plan = await self._definition.plan(
            self._secrets, live, image, self._stateful_set(key_of(live))
        )
        changes = await self._applier.apply(plan.objects, owner=live)
        keep = {(entry.kind, entry.key) for entry in changes.entries}
        await self._applier.prune(live, _CHILDREN, keep=keep)
        if changes.changed:
            for note in plan.unsupported:
                await self._events.warning(live, UNSUPPORTED, note)
        found = workload.progress(self._stateful_set(key_of(live)))
        await self._report(live, Observed(None, found.ready, found.wanted, found.settled))

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        return await self._report(live, Observed(failure))

    async def _report(self, live: Object, observed: Observed) -> bool:
        after = self._definition.status(live, observed, self._clock.now())
        return await self.write_status(live, after)

    def _stateful_set(self, key: Key) -> Object | None:
        return self._cluster.informer(STATEFUL_SET).get(self._definition.stateful_set(key))

    def _of_secret(self, change: Change) -> Iterable[Key]:
        kind = self._definition.kind
        yield from owner(kind)(change)
        yield from referrers(self._cluster, kind, "secret")(change)
