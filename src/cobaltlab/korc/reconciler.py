"""The reconciler of all nine kinds, driven by the table.

An unchanged object makes no request, neither to the API server nor to Keystone. Only a new spec, a
changed password, a dependency that appears, a failure, or the resync period start new work.
"""

import asyncio
import weakref
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime import conditions
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Source, itself
from cobaltcore.runtime.meta import ConditionStatus, Key, Object, WatchScope, key_of
from cobaltcore.runtime.timestamps import timestamp
from cobaltlab.korc import kinds, references, scope, verdict
from cobaltlab.korc.access import Access
from cobaltlab.korc.actuator import APPLIED_PASSWORD, Actuator
from cobaltlab.korc.kinds import Row
from cobaltlab.korc.scope import Scope
from cobaltlab.korc.verdict import Verdict
from cobaltlab.providers.failures import Blocked, Failure, Waiting
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import Reconciler, is_deleting

MANAGER = "cobalt-korc"
IMPORT_POLL = timedelta(seconds=15)
DRIFT = "DriftRepaired"
"""Reason of the event when something was changed or deleted in Keystone."""


class ResourceReconciler(Reconciler):
    """Reconciles the objects of one kind."""

    field_manager = MANAGER

    def __init__(
        self,
        context: Context,
        row: Row,
        access: Access,
        *,
        secrets: WatchScope,
        import_poll: timedelta,
    ) -> None:
        self._row = row
        self.finalizer = row.finalizer
        self._access = access
        self._actuator = Actuator(context.cluster, row, access, import_poll=import_poll)
        self._locks: weakref.WeakValueDictionary[Any, asyncio.Lock] = weakref.WeakValueDictionary()
        self._scopes: dict[Key, Scope] = {}
        super().__init__(
            context,
            row.kind,
            _sources(context.cluster, row, secrets),
            name=f"korc-{row.kind.kind.lower()}",
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Reconcile objects that ask for the same name one at a time."""
        place = self._place(key)
        async with self._lock(place):
            if self._place(key) != place:
                return timedelta()
            self._scopes.pop(key, None)
            return await super().reconcile(key)

    async def apply(self, live: Object) -> timedelta | None:
        due = scope.resync_in(live, self._clock.now())
        resync = due is not None and due <= timedelta()
        if scope.is_settled(live) and not resync and not self._has_new_password(live):
            return due
        current = scope.read(self._row, live)
        self._scopes[current.key] = current
        await self._actuator.reconcile(current, resync=resync)
        await self._report(current, verdict.DONE)
        if current.drift:
            await self._events.warning(live, DRIFT, current.drift)
        return scope.resync_period(current.live["spec"])

    async def finalize(self, live: Object) -> None:
        await super().finalize(await references.release(self._cluster, self._row.kind, live))

    async def teardown(self, live: Object) -> bool:
        names = live["metadata"]["finalizers"]
        others = [name for name in names if name != self._row.finalizer]
        if others:
            raise Waiting(
                "; ".join(f"Waiting for finalizer {name} to be removed" for name in others)
            )
        try:
            current = scope.read(self._row, live)
        except Blocked:
            if not (live.get("status") or {}).get("id"):
                return True
            raise
        options = current.spec.managed_options or korc.ManagedOptions()
        if current.is_managed and options.on_delete == "delete":
            await self._actuator.delete(current)
        return True

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        outcome = verdict.of_failure(failure)
        current = self._scopes.pop(key_of(live), None)
        if current is not None:
            return await self._report(current, outcome)
        available: ConditionStatus = "False"
        if is_deleting(live):
            before = conditions.find(conditions.of(live), verdict.AVAILABLE)
            available = before.status if before else "False"
        return await self._write(live, outcome, available, fields=_without_conditions(live))

    async def _report(self, current: Scope, outcome: Verdict) -> bool:
        """Write the status with what is known of the resource."""
        after = _without_conditions(current.live)
        available: ConditionStatus = "Unknown" if current.id or current.reported else "False"
        if current.observed is not None:
            available = "True"
            after |= {"resource": kinds.report(self._row, current.observed)}
            after |= {"id": current.observed["id"]} if "id" in current.observed else {}
            password = current.applied_password or current.reported.get("appliedPasswordRef")
            if password:
                after["resource"]["appliedPasswordRef"] = password
        elif not outcome.progressing:
            available = "False"
        if outcome is verdict.DONE:
            after["lastSyncTime"] = timestamp(self._clock.now())
        return await self._write(current.live, outcome, available, fields=after)

    async def _write(
        self,
        live: Object,
        outcome: Verdict,
        available: ConditionStatus,
        *,
        fields: Mapping[str, Any],
    ) -> bool:
        merged = self.merged(live, verdict.conditions(outcome, available))
        return await self.write_status(live, {**fields, "conditions": msgspec.to_builtins(merged)})

    def _has_new_password(self, live: Object) -> bool:
        """Whether the Secret of a user's password has changed since it was last applied."""
        resource = (live.get("spec") or {}).get("resource") or {}
        name = resource.get("passwordRef") if self._row.kind == korc.USER else None
        if not isinstance(name, str) or scope.is_terminal(live):
            return False
        version = self._access.version(live["metadata"]["namespace"], name)
        annotations = live["metadata"].get("annotations") or {}
        return bool(version) and annotations.get(APPLIED_PASSWORD) != version

    def _place(self, key: Key) -> tuple[str, str, str]:
        """Namespace, credentials and name in Keystone."""
        spec = (self._cluster.informer(self._row.kind).get(key) or {}).get("spec") or {}
        secret = (spec.get("cloudCredentialsRef") or {}).get("secretName")
        name = (spec.get("resource") or {}).get("name") or key.name
        return key.namespace, str(secret), str(name)

    def _lock(self, place: tuple[str, str, str]) -> asyncio.Lock:
        lock = self._locks.get(place)
        if lock is None:
            lock = self._locks[place] = asyncio.Lock()
        return lock


class CredentialsReconciler(Reconciler):
    """Removes our finalizers from Secrets that no object needs any more."""

    def __init__(self, context: Context, secrets: WatchScope) -> None:
        dependents = [
            Source(row.kind, references.released(context.cluster, SECRET, row.kind))
            for row in kinds.TABLE
        ]
        super().__init__(
            context, SECRET, [Source(SECRET, itself, secrets), *dependents], name="korc-secrets"
        )

    async def apply(self, live: Object) -> None:
        return None

    async def finalize(self, live: Object) -> None:
        await references.release(self._cluster, SECRET, live)

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        """A Secret has no status: the event is the report."""
        return True


def _sources(cluster: Cluster, row: Row, secrets: WatchScope) -> Iterator[Source]:
    kind = row.kind
    yield Source(kind, itself)
    yield Source(SECRET, references.dependents(cluster, kind, SECRET), secrets)
    for dependency in sorted({each.kind for each in kinds.all_references(row)}, key=str):
        yield Source(dependency, references.dependents(cluster, kind, dependency))
    for other in kinds.TABLE:
        if kind in {each.kind for each in kinds.all_references(other)}:
            yield Source(other.kind, references.released(cluster, kind, other.kind))
    if kind == korc.APPLICATION_CREDENTIAL:
        yield Source(korc.ROLE_ASSIGNMENT, references.same_user(cluster))


def _without_conditions(live: Object) -> dict[str, Any]:
    status = live.get("status") or {}
    return {name: value for name, value in status.items() if name != "conditions"}
