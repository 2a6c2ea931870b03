"""Deadlines that move all the time, on the real event loop: waiting is by condition."""

import asyncio

import pytest

from cobaltcore.runtime.deadline import Deadline, Limit


async def test_a_deadline_that_passes_expires_once() -> None:
    expired: list[str] = []
    last = asyncio.Event()
    deadline = Deadline(lambda: expired.append("first"))
    deadline.set(0.01)
    Deadline(last.set).set(0.05)
    async with asyncio.timeout(30):
        await last.wait()
    assert expired == ["first"]


async def test_a_later_deadline_replaces_an_earlier_one_without_expiring() -> None:
    expired: list[float] = []
    loop = asyncio.get_running_loop()
    late = asyncio.Event()

    def on_expiry() -> None:
        expired.append(loop.time())
        late.set()

    deadline = Deadline(on_expiry)
    deadline.set(0.01)
    due = loop.time() + 0.1
    deadline.set(0.1)
    async with asyncio.timeout(30):
        await late.wait()
    assert len(expired) == 1
    assert expired[0] >= due - 0.005


async def test_an_earlier_deadline_does_not_wait_for_the_timer_of_a_later_one() -> None:
    expired_event = asyncio.Event()
    deadline = Deadline(expired_event.set)
    deadline.set(3600)
    deadline.set(0.01)
    async with asyncio.timeout(30):
        await expired_event.wait()


async def test_a_cleared_deadline_never_expires() -> None:
    expired_event = asyncio.Event()
    deadline = Deadline(expired_event.set)
    deadline.set(0.01)
    deadline.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(expired_event.wait(), 0.05)


async def test_a_limit_is_reusable() -> None:
    limit = Limit(0.02)
    for _ in range(2):
        with pytest.raises(TimeoutError, match=r"within 0\.02 seconds"), limit:
            await asyncio.Event().wait()
    with limit:
        await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_limit_passes_an_outside_cancellation_on() -> None:
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
