import asyncio

import pytest

from cobaltcore.runtime.backoff import Backoff, Throttle, _Rate
from cobaltcore.runtime.queue import Queue
from tests.support.fake_clock import FakeClock, settle


def a_queue(clock: FakeClock) -> Queue[str]:
    return Queue(clock=clock, backoff=Backoff(first=1, longest=60))


async def take(queue: Queue[str]) -> str:
    key = await asyncio.wait_for(queue.get(), 5)
    assert key is not None
    return key


async def test_a_key_added_often_is_handed_out_once() -> None:
    queue = a_queue(FakeClock())
    for _ in range(100):
        queue.add("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert queue.idle


async def test_a_key_added_while_processed_is_queued_again_after_done() -> None:
    queue = a_queue(FakeClock())
    queue.add("a")
    await take(queue)
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await take(queue) == "a"


async def test_no_two_workers_process_the_same_key() -> None:
    queue = a_queue(FakeClock())
    queue.add("a")
    await take(queue)
    queue.add("a")
    second = asyncio.ensure_future(queue.get())
    await settle()
    assert not second.done()
    queue.done("a")
    assert await second == "a"


async def test_changed_keys_come_before_those_of_the_initial_list() -> None:
    queue = a_queue(FakeClock())
    queue.add("old", initial=True)
    queue.add("new")
    assert [await take(queue), await take(queue)] == ["new", "old"]


async def test_retry_waits_longer_each_time_and_forget_starts_over() -> None:
    queue = a_queue(FakeClock())
    delays = [queue.retry("a") for _ in range(6)]
    assert all(later > earlier for earlier, later in zip(delays, delays[2:], strict=False))
    queue.forget("a")
    assert queue.retry("a") < 2


async def test_retry_honours_the_delay_that_the_server_asks_for() -> None:
    queue = a_queue(FakeClock())
    assert queue.retry("a", at_least=30) == 30


async def test_a_delayed_key_comes_when_due_and_an_earlier_request_is_kept() -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    queue.add_after("a", 10)
    queue.add_after("a", 100)
    await clock.advance(9)
    assert len(queue) == 0
    await clock.advance(2)
    assert await take(queue) == "a"
    queue.done("a")
    assert queue.idle


async def test_an_added_key_does_not_come_again_for_its_delayed_request() -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    queue.add_after("a", 10)
    queue.add("a")
    await take(queue)
    queue.done("a")
    await clock.advance(20)
    assert queue.idle


async def test_a_cancelled_worker_hands_its_wakeup_over() -> None:
    queue = a_queue(FakeClock())
    first = asyncio.ensure_future(queue.get())
    second = asyncio.ensure_future(queue.get())
    await settle()
    queue.add("a")
    first.cancel()
    assert await asyncio.wait_for(second, 5) == "a"


async def test_workers_return_when_stopped() -> None:
    queue = a_queue(FakeClock())
    stopping = False
    worker = asyncio.ensure_future(queue.get(unless=lambda: stopping))
    await settle()
    stopping = True
    queue.wake_all()
    assert await asyncio.wait_for(worker, 5) is None


async def run_reconciles(queue: Queue[str]) -> int:
    reconciles = 0
    while len(queue):
        key = await take(queue)
        reconciles += 1
        queue.done(key)
    return reconciles


@pytest.mark.parametrize("interval", [0.001, 0.005, 0.03])
async def test_a_key_in_a_storm_is_handed_out_a_few_times_only(interval: float) -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    reconciles = 0
    for _ in range(2000):
        queue.add("a")
        reconciles += await run_reconciles(queue)
        await clock.advance(interval)
        reconciles += await run_reconciles(queue)
    assert reconciles <= 10
    assert not queue.idle, "the last change is still to be reconciled"


async def test_the_end_of_a_storm_is_reconciled_soon() -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    for _ in range(2000):
        queue.add("a")
        await run_reconciles(queue)
        await clock.advance(0.01)
        await run_reconciles(queue)
    queue.add("a")
    await clock.advance(0.6)
    assert await run_reconciles(queue) == 1


async def test_moderate_changes_are_reconciled_closely() -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    reconciles = 0
    for _ in range(50):
        queue.add("a")
        await clock.advance(0.2)
        reconciles += await run_reconciles(queue)
    assert reconciles >= 20


async def test_a_quiet_key_is_handed_out_at_once() -> None:
    clock = FakeClock()
    queue = a_queue(clock)
    for _ in range(4):
        queue.add("a")
        await run_reconciles(queue)
    assert not queue.idle
    await clock.advance(10)
    await run_reconciles(queue)
    await clock.advance(10)
    queue.add("a")
    assert len(queue) == 1


def test_many_active_keys_are_not_swept_for_each_new_one() -> None:
    looked_at = 0

    class Counting(Throttle):
        def _is_old(self, rate: _Rate, now: float) -> bool:
            nonlocal looked_at
            looked_at += 1
            return super()._is_old(rate, now)

    throttle = Counting()
    for number in range(8 * Throttle.SWEPT_FROM):
        throttle.record_start(number, 0.0)
    assert 0 < looked_at < 8 * Throttle.SWEPT_FROM


def test_keys_of_long_ago_are_forgotten() -> None:
    throttle = Throttle()
    for number in range(Throttle.SWEPT_FROM):
        throttle.record_start(number, 0.0)
    throttle.record_start("new", Throttle.REMEMBERED + 1)
    assert throttle.is_known("new")
    assert not throttle.is_known(0)
