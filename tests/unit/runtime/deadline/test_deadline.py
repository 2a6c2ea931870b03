"""Deadlines that move all the time, on the real event loop: waiting is by condition."""

import asyncio

import pytest

from cobaltcore.runtime.deadline import Deadline, Limit


async def test_a_deadline_that_is_missed_is_told_once() -> None:
    told: list[str] = []
    last = asyncio.Event()
    deadline = Deadline(lambda: told.append("first"))
    deadline.set(0.01)
    Deadline(last.set).set(0.05)
    async with asyncio.timeout(30):
        await last.wait()
    assert told == ["first"]


async def test_a_later_deadline_replaces_an_earlier_one_without_being_missed() -> None:
    told: list[float] = []
    loop = asyncio.get_running_loop()
    late = asyncio.Event()

    def missed() -> None:
        told.append(loop.time())
        late.set()

    deadline = Deadline(missed)
    deadline.set(0.01)
    due = loop.time() + 0.1
    deadline.set(0.1)
    async with asyncio.timeout(30):
        await late.wait()
    assert len(told) == 1
    assert told[0] >= due - 0.005


async def test_an_earlier_deadline_does_not_wait_for_the_timer_of_a_later_one() -> None:
    missed = asyncio.Event()
    deadline = Deadline(missed.set)
    deadline.set(3600)
    deadline.set(0.01)
    async with asyncio.timeout(30):
        await missed.wait()


async def test_what_is_lifted_is_never_missed() -> None:
    missed = asyncio.Event()
    deadline = Deadline(missed.set)
    deadline.set(0.01)
    deadline.lift()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(missed.wait(), 0.05)


async def test_a_limit_bounds_one_piece_of_work_after_the_other() -> None:
    limit = Limit(0.02)
    for _ in range(2):
        with pytest.raises(TimeoutError, match=r"within 0\.02 seconds"), limit:
            await asyncio.Event().wait()
    with limit:
        await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_limit_lets_a_cancellation_from_outside_through() -> None:
    began = asyncio.Event()

    async def work() -> None:
        with Limit(3600):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
