"""The controller that all kinds of servers share: secrets, objects, readiness, report.

A definition says what a server of its kind consists of; nothing here knows SQL or queues.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET, SERVICE, STATEFUL_SET
from cobaltcore.engine.desired import workload
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import errors, events, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself, owner, referrers
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, Scope, Struct, key_of
from cobaltcore.runtime.store import Change

_CHILDREN = (CONFIG_MAP, SERVICE, STATEFUL_SET)
MAKES = (*_CHILDREN, SECRET)
"""What servers of all kinds consist of."""


class CannotServe(Exception):
    """The object asks for something that is not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Situation:
    """How a server is: pods of the newest form, or why there are none."""

    problem: str = ""
    ready: int = 0
    wanted: int = 0
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a server consists of, and which wishes the lab does not fulfil."""

    objects: Iterable[Desired]
    not_served: Sequence[str] = ()


class Secrets:
    """Secrets of servers: read, or made up once."""

    def __init__(self, cluster: Cluster, applier: Applier) -> None:
        self._cluster = cluster
        self._applier = applier

    async def read(self, key: Key) -> Object | None:
        """A Secret with its content, or None."""
        return await self._cluster.read(SECRET, key)

    async def make_once(self, wanted: Desired, owner_: Object) -> Object | None:
        """Make a Secret unless it is there; what it holds then stays."""
        known = await self.read(wanted.key)
        if known is not None:
            return known
        await self._applier.apply([wanted._replace(once=True)], owner=owner_)
        return await self.read(wanted.key)


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind of servers."""

    kind: Kind
    name: str
    """Of the controller, the image's component, and the events."""
    plan: Callable[[Secrets, Object, str, Object | None], Awaitable[Plan]]
    """From Secrets, the object, the image and the StatefulSet as it is to what should be."""
    status: Callable[[Object, Situation, datetime], Struct]
    stateful_set: Callable[[Key], Key] = lambda key: key
    secrets: Callable[[Object], Iterable[str]] = lambda obj: ()
    """Secrets that an object names and that somebody else may change."""


class Servers:
    """The controller of one kind of servers."""

    def __init__(self, setting: provider.Setting, definition: Definition) -> None:
        self._definition = definition
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._image = setting.images.get(definition.name, "")
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._secrets = Secrets(setting.cluster, self._applier)
        self._events = events.Recorder(
            setting.cluster,
            component=definition.name,
            instance=setting.instance,
            clock=setting.clock,
        )
        kind = definition.kind
        setting.cluster.informer(kind).add_index("secret", definition.secrets)
        self.controller = Controller(
            definition.name,
            self.reconcile,
            [
                Source(kind, itself),
                *(Source(child, owner(kind)) for child in _CHILDREN),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Run the server that the object asks for, and report."""
        live = self._cluster.informer(self._definition.kind).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        try:
            await self._serve(live)
        except (CannotServe, msgspec.ValidationError) as error:
            await self._report(live, Situation(problem=str(error)))
            return None
        except (ForeignObject, errors.Invalid) as error:
            problem = ": ".join(filter(None, (error.message, error.hint)))
            await self._report(live, Situation(problem=problem))
            raise
        child = self._stateful_set(key)
        ready, wanted, settled = workload.progress(child)
        await self._report(live, Situation("", ready, wanted, settled))
        return None

    async def _serve(self, live: Object) -> None:
        name = self._definition.name
        image = self._image or (live.get("spec") or {}).get("image")
        if not image:
            raise CannotServe(f"there is no image: start the provider with --image {name}=…")
        known = self._stateful_set(key_of(live))
        plan = await self._definition.plan(self._secrets, live, image, known)
        changes = await self._applier.apply(plan.objects, owner=live)
        keep = {(entry.kind, entry.key) for entry in changes.entries}
        await self._applier.prune(live, _CHILDREN, keep=keep)
        if changes.changed:
            for note in plan.not_served:
                await self._events.warning(live, "NotServedInLab", note)

    async def _report(self, live: Object, situation: Situation) -> None:
        after = self._definition.status(live, situation, self._clock.now())
        built = msgspec.to_builtins(after)
        kind = self._definition.kind
        await status.write(self._cluster, kind, live, built, manager=provider.MANAGER)

    def _stateful_set(self, key: Key) -> Object | None:
        return self._cluster.informer(STATEFUL_SET).get(self._definition.stateful_set(key))

    def _of_secret(self, change: Change) -> Iterable[Key]:
        kind = self._definition.kind
        yield from owner(kind)(change)
        yield from referrers(self._cluster, kind, "secret")(change)
