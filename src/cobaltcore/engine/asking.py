"""Asks the questions of a planner's probes: those with a subject apart from reconciles.

A reconcile reads the answer to its question. Only where the question is another one than before it
waits, a little, for the first answer. A queue of its own repeats questions, and wakes the object
when an answer is another one: an API that hangs holds up no reconcile.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic

from cobaltcore.engine.context import Context
from cobaltcore.engine.planner import Planner, Probe, ScopeT
from cobaltcore.engine.scope import Answer
from cobaltcore.runtime import errors
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key

FIRST_ANSWER = timedelta(seconds=2)
"""So long a reconcile waits for the answer to a new question."""


@dataclass(slots=True)
class _Asked(Generic[ScopeT]):
    """A question about one object."""

    subject: Hashable
    scope: ScopeT
    due: float
    """When to ask again, on the monotonic clock."""
    answer: Answer[object] = field(default_factory=Answer)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    awaited: bool = True
    """Whether the reconcile that asked still waits."""


class Asker(Generic[ScopeT]):
    """Asks in the name of one planner."""

    def __init__(
        self, planner: Planner[ScopeT], context: Context, *, wake: Callable[[Key], None]
    ) -> None:
        self._planner = planner
        self._context = context
        self._wake = wake
        self._asked: dict[tuple[Key, str], _Asked[ScopeT]] = {}
        self._repeated = [each for each in planner.probes if each.subject is not None]
        self.controllers = (
            [Controller(f"{planner.name}-probes", self._repeat, (), clock=context.clock)]
            if self._repeated
            else []
        )

    async def answers(self, scope: ScopeT) -> Mapping[str, Answer[object]]:
        """What the planner's probes found."""
        probes = self._planner.probes
        found = await asyncio.gather(*(self._answer(probe, scope) for probe in probes))
        return {probe.name: each for probe, each in zip(probes, found, strict=True)}

    async def _answer(self, probe: Probe[ScopeT], scope: ScopeT) -> Answer[object]:
        if probe.subject is None:
            return await self._ask(probe, scope)
        where, subject = (scope.key, probe.name), probe.subject(scope)
        if subject is None:
            self._asked.pop(where, None)
            return Answer()
        known = self._asked.get(where)
        if known is not None and known.subject == subject:
            known.scope = scope
            # A new term of this leader starts without what the one before had scheduled.
            self._schedule(scope.key, known.due - self._now)
            return known.answer
        asked = _Asked(subject, scope, self._now + probe.limit.total_seconds())
        self._asked[where] = asked
        self._schedule(scope.key, 0)
        try:
            async with asyncio.timeout(FIRST_ANSWER.total_seconds()):
                await asked.answered.wait()
        except TimeoutError:
            asked.awaited = False
        return asked.answer

    async def _repeat(self, key: Key) -> timedelta | None:
        """Ask all questions about an object; how soon again follows from the answers."""
        found = [await self._renew(probe, key) for probe in self._repeated]
        return min(filter(None, found), default=None)

    async def _renew(self, probe: Probe[ScopeT], key: Key) -> timedelta | None:
        where = (key, probe.name)
        asked = self._asked.get(where)
        if asked is None:
            return None
        if self._context.cluster.informer(self._planner.kind).get(key) is None:
            del self._asked[where]
            return None
        answer = await self._ask(probe, asked.scope)
        if self._asked.get(where) is not asked:
            return None
        is_news = answer != asked.answer and not asked.awaited
        asked.answer, asked.awaited = answer, False
        asked.answered.set()
        if is_news:
            self._wake(key)
        period = probe.period(asked.scope, answer)
        asked.due = self._now + period.total_seconds()
        return period

    def _schedule(self, key: Key, seconds: float) -> None:
        for each in self.controllers:
            if seconds > 0:
                each.queue.add_after(key, seconds)
            else:
                each.queue.add(key)

    @property
    def _now(self) -> float:
        return self._context.clock.monotonic()

    async def _ask(self, probe: Probe[ScopeT], scope: ScopeT) -> Answer[object]:
        try:
            async with asyncio.timeout(probe.limit.total_seconds()):
                return Answer(await probe.ask(scope, self._context))
        except TimeoutError:
            return Answer(fault=f"no answer within {probe.limit.total_seconds():g} s")
        except errors.RuntimeFault as fault:
            return Answer(fault=fault.message)
