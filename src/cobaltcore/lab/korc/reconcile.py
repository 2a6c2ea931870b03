"""The one controller of all nine kinds: a row of the table tells it what it works on.

A pass over an object that is as it was told last makes no request, neither to the API server nor
to Keystone. Only a new spec, a changed password, a missing object that appears, an error that may
be gone, or the resync period make it look again.
"""

import asyncio
import weakref
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.lab.korc import clouds, keystone, kinds, references, subject, verdict
from cobaltcore.lab.korc.access import Access
from cobaltcore.lab.korc.kinds import Row
from cobaltcore.lab.korc.subject import Subject
from cobaltcore.lab.korc.verdict import Terminal, Verdict, Waiting
from cobaltcore.lab.korc.work import APPLIED_PASSWORD, Work
from cobaltcore.runtime import conditions, finalizers, status
from cobaltcore.runtime.clock import Clock, timestamp
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.meta import ConditionStatus, Key, Object, Scope

MANAGER = "cobalt-korc"
IMPORT_POLL = timedelta(seconds=15)


class Reconciler:
    """The controller of one kind."""

    def __init__(
        self,
        cluster: Cluster,
        row: Row,
        access: Access,
        *,
        clock: Clock,
        secrets: Scope,
        import_poll: timedelta,
    ) -> None:
        self._cluster = cluster
        self._row = row
        self._access = access
        self._clock = clock
        self._work = Work(cluster, row, access, import_poll=import_poll)
        self._turns: weakref.WeakValueDictionary[Any, asyncio.Lock] = weakref.WeakValueDictionary()
        self.controller = Controller(
            f"korc-{row.kind.kind.lower()}", self.reconcile, self._sources(secrets), clock=clock
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Bring one object in order."""
        live = self._cluster.informer(self._row.kind).get(key)
        if live is None:
            return None
        if live["metadata"].get("deletionTimestamp"):
            await self._end(live)
            return None
        due = subject.resync_in(live, self._clock.now())
        resync = due is not None and due <= timedelta()
        if subject.is_settled(live) and not resync and not self._has_new_password(live):
            return due
        return await self._converge(live, resync=resync)

    async def _converge(self, live: Object, *, resync: bool) -> timedelta | None:
        try:
            found = subject.read(self._row, live)
        except Terminal as error:
            await self._report(live, verdict.terminal(error), "False", fields=_known(live))
            return None
        async with self._turn(found):
            return await self._told(found, resync=resync)

    async def _told(self, found: Subject, *, resync: bool) -> timedelta | None:
        """Do the work and tell how it went."""
        outcome, after, failure = verdict.DONE, None, None
        try:
            await self._work.converge(found, resync=resync)
        except Waiting as wait:
            outcome, after = verdict.waiting(str(wait)), wait.after
        except Terminal as error:
            outcome = verdict.terminal(error)
        except clouds.CloudError as error:
            outcome = verdict.transient(error.message)
        except keystone.KeystoneError as error:
            outcome, failure = verdict.transient(error.message), error
        await self._tell(found, outcome)
        if failure is not None:
            raise failure
        if outcome is verdict.DONE:
            return subject.resync_period(found.live["spec"])
        return after

    async def _end(self, live: Object) -> None:
        """Let an object go once nothing needs it and its resource is gone."""
        live = await references.release(self._cluster, self._row.kind, live)
        if not finalizers.present(live, self._row.finalizer):
            return
        names = live["metadata"]["finalizers"]
        others = [name for name in names if name != self._row.finalizer]
        if others:
            wait = Waiting(*(f"Waiting for finalizer {name} to be removed" for name in others))
            await self._report_same(live, verdict.waiting(str(wait)))
            return
        try:
            await self._remove(live)
        except Waiting as wait:
            await self._report_same(live, verdict.waiting(str(wait)))
        except Terminal as error:
            await self._report_same(live, verdict.terminal(error))
        except clouds.CloudError as error:
            await self._report_same(live, verdict.transient(error.message))
        except keystone.KeystoneError as error:
            await self._report_same(live, verdict.transient(error.message))
            raise
        else:
            await finalizers.remove(self._cluster, self._row.kind, live, self._row.finalizer)

    async def _remove(self, live: Object) -> None:
        try:
            found = subject.read(self._row, live)
        except Terminal:
            if not (live.get("status") or {}).get("id"):
                return
            raise
        options = found.spec.managed_options or korc.ManagedOptions()
        if found.is_managed and options.on_delete == "delete":
            async with self._turn(found):
                await self._work.remove(found)

    async def _tell(self, found: Subject, outcome: Verdict) -> None:
        after = _known(found.live)
        available: ConditionStatus = "Unknown" if found.id or found.told else "False"
        if found.seen is not None:
            available = "True"
            after |= {"resource": kinds.report(self._row, found.seen)}
            after |= {"id": found.seen["id"]} if "id" in found.seen else {}
            password = found.applied_password or found.told.get("appliedPasswordRef")
            if password:
                after["resource"]["appliedPasswordRef"] = password
        elif not outcome.progressing:
            available = "False"
        if outcome is verdict.DONE:
            after["lastSyncTime"] = timestamp(self._clock.now())
        await self._report(found.live, outcome, available, fields=after)

    async def _report_same(self, live: Object, outcome: Verdict) -> None:
        """Tell why an object is still there; nothing new is known of its resource."""
        known = conditions.find(subject.told(live), verdict.AVAILABLE)
        await self._report(live, outcome, known.status if known else "False", fields=_known(live))

    async def _report(
        self,
        live: Object,
        outcome: Verdict,
        available: ConditionStatus,
        *,
        fields: Mapping[str, Any],
    ) -> None:
        merged = conditions.merge(
            subject.told(live),
            verdict.conditions(outcome, available),
            now=self._clock.now(),
            generation=live["metadata"]["generation"],
        )
        after = {**fields, "conditions": msgspec.to_builtins(merged)}
        await status.write(self._cluster, self._row.kind, live, after, manager=MANAGER)

    def _has_new_password(self, live: Object) -> bool:
        """Whether the Secret of a user's password changed since it was last applied."""
        resource = (live.get("spec") or {}).get("resource") or {}
        name = resource.get("passwordRef") if self._row.kind == korc.USER else None
        if not isinstance(name, str) or subject.is_terminal(live):
            return False
        version = self._access.version(live["metadata"]["namespace"], name)
        annotations = live["metadata"].get("annotations") or {}
        return bool(version) and annotations.get(APPLIED_PASSWORD) != version

    def _turn(self, found: Subject) -> asyncio.Lock:
        """Two objects that ask for the same name are looked at one after the other."""
        place = (found.key.namespace, found.spec.cloud_credentials_ref.secret_name, found.name)
        lock = self._turns.get(place)
        if lock is None:
            lock = self._turns[place] = asyncio.Lock()
        return lock

    def _sources(self, secrets: Scope) -> Iterator[Source]:
        kind = self._row.kind
        yield Source(kind, itself)
        yield Source(SECRET, references.needing(self._cluster, kind, SECRET), secrets)
        for needed in sorted({each.kind for each in kinds.all_references(self._row)}, key=str):
            yield Source(needed, references.needing(self._cluster, kind, needed))
        for row in kinds.TABLE:
            if kind in {each.kind for each in kinds.all_references(row)}:
                yield Source(row.kind, references.released(self._cluster, kind, row.kind))
        if kind == korc.APPLICATION_CREDENTIAL:
            yield Source(korc.ROLE_ASSIGNMENT, references.same_user(self._cluster))


def _known(live: Object) -> dict[str, Any]:
    """What was told of the resource itself."""
    told = live.get("status") or {}
    return {name: value for name, value in told.items() if name != "conditions"}


class SecretGuard:
    """Lets Secrets go that no object needs any more to reach Keystone."""

    def __init__(self, cluster: Cluster, secrets: Scope, *, clock: Clock) -> None:
        self._cluster = cluster
        users = [
            Source(row.kind, references.released(cluster, SECRET, row.kind)) for row in kinds.TABLE
        ]
        self.controller = Controller(
            "korc-secrets",
            self.reconcile,
            [Source(SECRET, itself, secrets), *users],
            clock=clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Take our finalizers off a Secret that is to be deleted."""
        live = self._cluster.informer(SECRET).get(key)
        if live is not None and live["metadata"].get("deletionTimestamp"):
            await references.release(self._cluster, SECRET, live)
        return None
