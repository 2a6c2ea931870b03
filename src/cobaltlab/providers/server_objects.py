"""The reconciler of all objects that live on a server: databases, accounts, vhosts, policies.

They are created on the server, and dropped from it when their object is deleted.
"""

from abc import abstractmethod
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import log
from cobaltcore.runtime.controller import Source, itself, referrers
from cobaltcore.runtime.meta import Kind, Object, WatchScope
from cobaltcore.runtime.store import IndexFunction
from cobaltlab.providers import durations
from cobaltlab.providers.failures import InvalidSpec, ReconcileError
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler

_log = log.get("server-objects")


class ServerError(ReconcileError):
    """The server refused or did not respond."""


class ServerObjectReconciler(Reconciler):
    """Reconciles one kind of objects on servers of one kind."""

    def __init__(
        self,
        context: Context,
        kind: Kind,
        *,
        server: Kind,
        finalizer: str,
        indexes: dict[str, IndexFunction],
        sources: Iterable[Source] = (),
    ) -> None:
        """Of `indexes`, "server" and "secret" name the dependencies of an object."""
        self.finalizer = finalizer
        for name, function in indexes.items():
            context.cluster.informer(kind).add_index(name, function)
        secrets = referrers(context.cluster, kind, "secret")
        super().__init__(
            context,
            kind,
            [
                Source(kind, itself),
                Source(server, referrers(context.cluster, kind, "server")),
                Source(SECRET, secrets, WatchScope(metadata_only=True)),
                *sources,
            ],
            name=f"{server.kind}-{kind.kind}".lower(),
        )

    @abstractmethod
    async def create(self, live: Object) -> timedelta | None:
        """Create or update it on the server and report; return when to reconcile again."""

    @abstractmethod
    async def drop(self, live: Object) -> None:
        """Drop it from the server, unless it is to be kept."""

    async def apply(self, live: Object) -> timedelta | None:
        live = await self.hold(live)
        try:
            return await self.create(live)
        except ServerError as error:
            interval = (live.get("spec") or {}).get("retryInterval")
            if interval is not None:
                error.after = parsed_duration("spec.retryInterval", str(interval))
            raise

    async def teardown(self, live: Object) -> bool:
        try:
            await self.drop(live)
        except (InvalidSpec, msgspec.ValidationError) as error:
            # An invalid spec was never applied: nothing is left on the server.
            _log.info("nothing to drop", error=str(error))
        return True


def parsed_duration(path: str, text: str) -> timedelta:
    """Parse a duration of a spec."""
    try:
        return durations.parse(text)
    except ValueError as error:
        raise InvalidSpec(f"{path}: {error}") from error
