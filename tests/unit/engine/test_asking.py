"""Questions of probes that are asked apart from reconciles."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from cobaltcore.engine import asking
from cobaltcore.engine.asking import Asker
from cobaltcore.engine.context import Context
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.planner import Probe
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime import errors, offline
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key, key_of
from tests.support import planning
from tests.support.fake_clock import FakeClock

GLANCE = planning.an_object("Glance")
KEY = key_of(GLANCE)


@dataclass
class World:
    """A probe, whose answers a test sets, and who is woken."""

    subject: Hashable | None = "first"
    answer: object = "good"
    asked: int = 0
    woken: list[Key] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.may_answer.set()
        probe: Probe[AnyScope] = Probe(
            "p",
            self._ask,
            subject=lambda scope: self.subject,
            period=lambda scope, answer: timedelta(seconds=60 if answer.value == "good" else 5),
        )
        planner = ServicePlanner(planning.service("Glance"), probes=[probe])
        self.cluster = offline.cluster()
        self.cluster.informer(planner.kind).observe(CachedObject.of(GLANCE))
        context = Context(self.cluster, "test", clock=self.clock)
        self.asker = Asker(planner, context, wake=self.woken.append)

    async def _ask(self, scope: AnyScope, context: Context) -> object:
        self.asked += 1
        await self.may_answer.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def reconcile(self) -> Answer[object]:
        """What a reconcile finds."""
        return (await self.asker.answers(planning.scope(GLANCE)))["p"]


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    world = World()
    (controller,) = world.asker.controllers
    task = asyncio.ensure_future(controller.run())
    try:
        yield world
    finally:
        world.may_answer.set()
        task.cancel()
        await asyncio.wait({task})


async def test_a_new_question_is_answered_in_the_same_reconcile() -> None:
    async with running() as world:
        assert await world.reconcile() == Answer("good")
        assert world.woken == []


async def test_the_same_question_is_not_asked_by_every_reconcile() -> None:
    async with running() as world:
        for _ in range(5):
            await world.reconcile()
        assert world.asked == 1


async def test_another_subject_is_asked_about_at_once() -> None:
    async with running() as world:
        await world.reconcile()
        world.subject, world.answer = "second", "bad"
        assert await world.reconcile() == Answer("bad")


async def test_without_a_subject_nothing_is_asked() -> None:
    async with running() as world:
        world.subject = None
        assert await world.reconcile() == Answer()
        assert world.asked == 0


async def test_questions_are_repeated_calmly_and_wake_nothing_while_the_answer_stays() -> None:
    async with running() as world:
        await world.reconcile()
        await world.clock.advance(59)
        assert world.asked == 1
        await world.clock.advance(2)
        assert (world.asked, world.woken) == (2, [])


async def test_another_answer_wakes_the_object_and_is_asked_for_more_often() -> None:
    async with running() as world:
        await world.reconcile()
        world.answer = "bad"
        await world.clock.advance(61)
        assert world.woken == [KEY]
        assert await world.reconcile() == Answer("bad")
        world.answer = "good"
        await world.clock.advance(6)
        assert world.woken == [KEY, KEY]


async def test_a_fault_is_an_answer() -> None:
    async with running() as world:
        world.answer = errors.Unreachable("no response")
        assert await world.reconcile() == Answer(fault="no response")


async def test_a_question_that_hangs_holds_up_no_reconcile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "FIRST_ANSWER", timedelta(milliseconds=10))
    async with running() as world:
        world.may_answer.clear()
        assert await world.reconcile() == Answer()
        assert await world.reconcile() == Answer()
        world.may_answer.set()
        async with asyncio.timeout(10):
            while not world.woken:
                await asyncio.sleep(0)
        assert await world.reconcile() == Answer("good")


async def test_an_answer_to_an_old_question_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_ANSWER", timedelta(milliseconds=10))
    async with running() as world:
        world.may_answer.clear()
        await world.reconcile()
        world.subject = "second"
        assert await world.reconcile() == Answer()
        world.may_answer.set()
        async with asyncio.timeout(10):
            while world.asked < 2 or not world.woken:
                await asyncio.sleep(0)
        assert world.woken == [KEY]


async def test_a_new_term_of_the_leader_continues_to_ask() -> None:
    async with running() as world:
        await world.reconcile()
    (controller,) = world.asker.controllers
    task = asyncio.ensure_future(controller.run())
    await world.reconcile()
    assert world.asked == 1
    await world.clock.advance(61)
    assert world.asked == 2
    task.cancel()
    await asyncio.wait({task})


async def test_nothing_is_asked_about_a_deleted_object() -> None:
    async with running() as world:
        await world.reconcile()
        kind = planning.service("Glance").kind
        world.cluster.observe_deletion(kind, KEY, version=99)
        await world.clock.advance(600)
        assert world.asked == 1
