"""The controller that all things on servers share: databases, accounts, queues' name spaces.

A thing is made on its server, undone when its object is deleted, and reported in between.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import timedelta

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.lab.providers import durations, provider
from cobaltcore.runtime import errors, finalizers, log
from cobaltcore.runtime.controller import Controller, Source, itself, referrers
from cobaltcore.runtime.meta import Key, Kind, Object, Scope
from cobaltcore.runtime.store import IndexFunction

_log = log.get("things")


class Waiting(Exception):
    """Something else has to be there first, and it is watched; or the user has to act."""


class Refused(errors.RuntimeFault):
    """The server said no, or nothing: it is asked again, later each time."""


class Things(ABC):
    """The controller of one kind of things."""

    def __init__(
        self,
        setting: provider.Setting,
        kind: Kind,
        *,
        server: Kind,
        finalizer: str,
        indexes: dict[str, IndexFunction],
        sources: Iterable[Source] = (),
    ) -> None:
        """Of `indexes`, "server" and "secret" name what a thing needs; both are watched."""
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._kind = kind
        self._finalizer = finalizer
        for name, function in indexes.items():
            setting.cluster.informer(kind).add_index(name, function)
        secrets = referrers(setting.cluster, kind, "secret")
        self.controller = Controller(
            f"{server.kind}-{kind.kind}".lower(),
            self.reconcile,
            [
                Source(kind, itself),
                Source(server, referrers(setting.cluster, kind, "server")),
                Source(SECRET, secrets, Scope(metadata_only=True)),
                *sources,
            ],
            clock=setting.clock,
        )

    @abstractmethod
    async def make(self, live: Object) -> timedelta | None:
        """Make it true on the server and report; return when to look again."""

    @abstractmethod
    async def undo(self, live: Object) -> None:
        """Take it back from the server, unless it is to be kept."""

    @abstractmethod
    async def report(self, live: Object, problem: str) -> None:
        """Tell how it is; an empty problem means that it is made."""

    async def reconcile(self, key: Key) -> timedelta | None:
        """Make it true on the server, or undo it, and report."""
        live = self._cluster.informer(self._kind).get(key)
        if live is None:
            return None
        if live["metadata"].get("deletionTimestamp"):
            await self._clean_up(live)
            return None
        live = await finalizers.add(self._cluster, self._kind, live, self._finalizer)
        try:
            return await self.make(live)
        except (Waiting, ValueError) as error:
            await self.report(live, str(error))
            return None
        except Refused as error:
            await self.report(live, error.message)
            interval = (live.get("spec") or {}).get("retryInterval")
            if interval is None:
                raise
            return durations.parse(str(interval))

    async def _clean_up(self, live: Object) -> None:
        if not finalizers.present(live, self._finalizer):
            return
        try:
            await self.undo(live)
        except Waiting as error:
            await self.report(live, str(error))
            return
        except ValueError as error:
            # What cannot be read was never made: nothing holds the object.
            _log.info("nothing to undo", error=str(error))
        await finalizers.remove(self._cluster, self._kind, live, self._finalizer)
