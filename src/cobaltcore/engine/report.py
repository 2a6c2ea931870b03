"""From a plan to the status and the events of its object: the only writer of both."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec

from cobaltcore.engine.context import Context
from cobaltcore.engine.plan import Event, Plan
from cobaltcore.engine.planner import Planner, ScopeT
from cobaltcore.engine.redact import redactor
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import FAILED, STALLED, Blocked, Ready, Verdict, Waiting, overall
from cobaltcore.runtime import conditions, errors, events, status
from cobaltcore.runtime.meta import Condition, Key, Object

TRANSIENT = (errors.Unreachable, errors.TooManyRequests, errors.ServerError)
TRANSIENT_FAILURES = 3
"""After so many in a row even a fault that usually passes is reported."""


class Reporter:
    """Reports in the name of one planner."""

    def __init__(
        self, context: Context, planner: Planner[ScopeT], *, is_dirty: Callable[[Key], bool]
    ) -> None:
        self._clock = context.clock
        self._status = status.Writer(
            context.cluster,
            planner.kind,
            manager=planner.manager,
            is_dirty=is_dirty,
            clock=context.clock,
        )
        self._events = events.Recorder(
            context.cluster,
            component=planner.manager,
            instance=context.instance,
            clock=context.clock,
        )

    async def planned(self, scope: Scope[Any, Any], plan: Plan[Any]) -> None:
        """Write what a plan reports: conditions, further fields, events on transitions."""
        plan = without_secrets(plan, scope)
        found = self._merged(scope.live, [*overall(plan.verdict), *plan.conditions])
        fields = msgspec.to_builtins(plan.status) if plan.status is not None else {}
        await self._write(scope.live, found, fields)
        await self.record(scope.live, plan.events)
        await self._transition(scope.live, plan.verdict)

    async def rejected(self, live: Object, verdict: Verdict) -> None:
        """Write why an object could not be reconciled; everything else stays as it was."""
        others = [each for each in conditions.of(live) if each.type not in ("Ready", STALLED)]
        found = [*self._merged(live, overall(verdict)), *others]
        await self._write(live, found, live.get("status") or {})
        await self._transition(live, verdict)

    async def record(self, live: Object, events: Iterable[Event]) -> None:
        for each in events:
            write = self._events.normal if each.type == "Normal" else self._events.warning
            await write(live, each.reason, each.note)

    def _merged(self, live: Object, found: list[Condition]) -> list[Condition]:
        generation = live["metadata"]["generation"]
        now = self._clock.now()
        return conditions.merge(conditions.of(live), found, now=now, generation=generation)

    async def _write(self, live: Object, found: list[Condition], fields: dict[str, Any]) -> None:
        written = {
            **fields,
            "conditions": msgspec.to_builtins(found),
            "observedGeneration": live["metadata"]["generation"],
        }
        await self._status.write(live, written)

    async def _transition(self, live: Object, verdict: Verdict) -> None:
        before = conditions.find(conditions.of(live), "Ready")
        was_ready = before is not None and before.status == "True"
        if isinstance(verdict, Ready):
            if not was_ready:
                await self._events.normal(live, verdict.reason, verdict.message or "is ready")
            return
        is_fault = isinstance(verdict, Blocked) or verdict.reason == FAILED
        is_new = before is None or (before.reason, before.message) != (
            verdict.reason,
            verdict.message,
        )
        if was_ready or (is_fault and is_new):
            await self._events.warning(live, verdict.reason, verdict.message)


def without_secrets(plan: Plan[Any], scope: Scope[Any, Any]) -> Plan[Any]:
    """Messages may have the last line of a log in them."""
    if plan.ready:
        return plan
    redact = redactor(scope.observed.contents)
    return replace(
        plan,
        verdict=replace(plan.verdict, message=redact(plan.verdict.message)),
        conditions=[
            msgspec.structs.replace(each, message=redact(each.message)) for each in plan.conditions
        ],
    )


def may_pass(error: Exception, failures: int) -> bool:
    """Whether a fault is of a sort that usually passes by itself, and has not lasted yet."""
    if isinstance(error, errors.Conflict):
        return True
    return isinstance(error, TRANSIENT) and failures < TRANSIENT_FAILURES


def verdict_of(error: Exception) -> Verdict:
    """An exception as a verdict: cause and remedy, as far as they are known."""
    if isinstance(error, errors.RuntimeFault):
        remedy = error.hint or "retried with back-off"
        return Waiting(FAILED, f"{error.message}; {remedy}")
    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Waiting(FAILED, f"{cause}; retried with back-off, details are in the operator's log")
