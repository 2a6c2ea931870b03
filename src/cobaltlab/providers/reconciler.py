"""The reconcile loop of all lab providers: one kind, observe → plan → apply → report.

A subclass applies the spec of an object and reports the result. Every exception ends as a condition and,
unless a dependency is waited for, as an event; its type decides about the retry.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

import msgspec

from cobaltcore.runtime import conditions, errors, events, finalizers, log, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Controller, Source
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Struct, key_of
from cobaltlab.providers import failures
from cobaltlab.providers.failures import Blocked, Failure, InvalidSpec, ReconcileError
from cobaltlab.providers.provider import MANAGER, Context

# Less than the limit of the controller, which cancels without a report.
TIMEOUT = timedelta(minutes=4)

_log = log.get("providers")


class Reconciler(ABC):
    """The controller of one kind."""

    finalizer: str = ""
    """Held by `hold`; removed once `teardown` is done."""
    field_manager: ClassVar[str] = MANAGER
    failed_reason: ClassVar[str] = failures.RECONCILE_FAILED
    """Reason of Ready=False for errors that bring none along."""
    failed_event: ClassVar[str] = failures.RECONCILE_FAILED
    blocking: ClassVar[tuple[type[errors.RuntimeFault], ...]] = ()
    """Errors that only a change of an object ends: they are reported and not retried."""
    observes_generation: ClassVar[bool] = True
    """Whether conditions of the kind have an observedGeneration."""
    status_has_generation: ClassVar[bool] = False
    """Whether the status has an observedGeneration outside of its conditions."""

    def __init__(
        self,
        context: Context,
        kind: Kind,
        sources: Iterable[Source],
        *,
        name: str = "",
        component: str = "",
    ) -> None:
        """`name` is the controller's, `component` the one that events name."""
        self._cluster = context.cluster
        self._clock = context.clock
        self._kind = kind
        self._applier = Applier(context.cluster, manager=self.field_manager)
        self._events = events.Recorder(
            context.cluster,
            component=component or name or kind.kind.lower(),
            instance=context.instance,
            clock=context.clock,
        )
        self.controller = Controller(
            name or kind.kind.lower(), self.reconcile, sources, clock=context.clock
        )

    @abstractmethod
    async def apply(self, live: Object) -> timedelta | None:
        """Make it so and report; return when to reconcile again."""

    async def teardown(self, live: Object) -> bool:
        """Remove what `apply` created outside the object; False while something is left."""
        return True

    def forget(self, key: Key) -> None:  # noqa: B027 most keep nothing
        """Drop what is kept in memory about a deleted object."""

    async def reconcile(self, key: Key) -> timedelta | None:
        live = self._cluster.informer(self._kind).get(key)
        if live is None:
            self.forget(key)
            return None
        try:
            async with asyncio.timeout(TIMEOUT.total_seconds()):
                if is_deleting(live):
                    await self.finalize(live)
                    return None
                return await self.apply(live)
        except errors.Conflict:
            # The cache is behind; the next attempt starts from the newer object.
            raise
        except Exception as error:  # noqa: BLE001 every exception is reported
            return await self._fail(live, self._classified(error))

    async def finalize(self, live: Object) -> None:
        """Tear down and release an object that is being deleted."""
        if finalizers.present(live, self.finalizer) and await self.teardown(live):
            await finalizers.remove(self._cluster, self._kind, live, self.finalizer)

    async def hold(self, live: Object) -> Object:
        """Add the finalizer; return the object as it is then."""
        return await finalizers.add(self._cluster, self._kind, live, self.finalizer)

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        """Set Ready=False and keep the rest of the status; return whether it changed."""
        reason = failure.reason or self.failed_reason
        ready = Condition(type="Ready", status="False", reason=reason, message=failure.message)
        after = {
            **(live.get("status") or {}),
            "conditions": msgspec.to_builtins(self.merged(live, [ready])),
        }
        if self.status_has_generation:
            after["observedGeneration"] = live["metadata"]["generation"]
        return await self.write_status(live, after)

    async def write_status(self, live: Object, after: Struct | Mapping[str, Any]) -> bool:
        built: Mapping[str, Any] = msgspec.to_builtins(after)
        return await status.write(
            self._cluster, self._kind, live, built, manager=self.field_manager
        )

    def merged(self, live: Object, current: Sequence[Condition]) -> list[Condition]:
        """The conditions to write, with times of transition and generation."""
        return merge_conditions(
            live, current, now=self._clock.now(), observes_generation=self.observes_generation
        )

    def latest(self, live: Object) -> Object:
        """The object as the cache has it by now."""
        return self._cluster.informer(self._kind).get(key_of(live)) or live

    def _classified(self, error: Exception) -> Exception:
        if isinstance(error, msgspec.ValidationError):
            return _caused(InvalidSpec(f"spec is invalid: {error}"), error)
        if isinstance(error, self.blocking) and not isinstance(error, ReconcileError):
            return _caused(Blocked(error.message, error.hint), error)
        return error

    async def _fail(self, live: Object, error: Exception) -> timedelta | None:
        failure = failures.describe(error)
        # What this reconcile has recorded in the status stays; the generation is the one it read.
        current = {**live, "status": self.latest(live).get("status") or {}}
        try:
            changed = await self.report_failure(current, failure)
        except (errors.ApiError, errors.Unreachable) as unreported:
            _log.warning("failure not reported", error=failure.message, why=unreported.message)
            raise error from unreported
        if changed and not failure.is_waiting:
            await self._events.warning(live, self.failed_event, failure.message)
        if isinstance(error, ReconcileError) and (
            failure.is_waiting or failure.is_blocked or error.after is not None
        ):
            return error.after
        raise error


def merge_conditions(
    live: Object, current: Sequence[Condition], *, now: datetime, observes_generation: bool = True
) -> list[Condition]:
    """Complete conditions from those that `live` has; some operators write no generation."""
    generation = live["metadata"]["generation"]
    merged = conditions.merge(conditions.of(live), current, now=now, generation=generation)
    if observes_generation:
        return merged
    return [msgspec.structs.replace(each, observed_generation=None) for each in merged]


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error
