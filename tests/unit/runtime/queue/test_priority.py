from cobaltcore.runtime.queue import FAIR_TURN, Queue
from tests.support.fake_clock import FakeClock


async def take(queue: Queue[str]) -> str:
    key = await queue.get(unless=lambda: True)
    assert key is not None
    return key


async def reconcile(queue: Queue[str]) -> str:
    key = await take(queue)
    queue.done(key)
    return key


async def test_a_started_key_comes_before_new_ones() -> None:
    queue: Queue[str] = Queue(clock=FakeClock())
    for key in ("a", "b", "c"):
        queue.add(key)
    assert await reconcile(queue) == "a"
    queue.add("a")
    assert [await reconcile(queue) for _ in range(3)] == ["a", "b", "c"]


async def test_a_started_key_that_changes_while_processed_comes_before_new_ones() -> None:
    queue: Queue[str] = Queue(clock=FakeClock())
    queue.add("a")
    queue.add("b")
    assert await take(queue) == "a"
    queue.add("a")
    queue.done("a")
    assert await take(queue) == "a"


async def test_the_first_of_many_is_finished_before_half_of_them_are_started() -> None:
    """Each key needs six reconciles, one after the other."""
    queue: Queue[str] = Queue(clock=FakeClock())
    keys = [f"keystone-{number}" for number in range(200)]
    for key in keys:
        queue.add(key)
    left = dict.fromkeys(keys, 6)
    while left["keystone-0"]:
        key = await reconcile(queue)
        left[key] -= 1
        if left[key]:
            queue._throttle.record_start(key, -10.0)  # not what this test is about
            queue.add(key)
    assert sum(count < 6 for count in left.values()) < 3


async def test_new_keys_come_before_those_of_the_initial_list() -> None:
    queue: Queue[str] = Queue(clock=FakeClock())
    queue.add("initial", initial=True)
    queue.add("new")
    assert [await take(queue), await take(queue)] == ["new", "initial"]


async def test_a_key_of_the_initial_list_that_changes_comes_with_the_new_ones() -> None:
    queue: Queue[str] = Queue(clock=FakeClock())
    queue.add("a", initial=True)
    queue.add("b", initial=True)
    queue.add("b")
    assert len(queue) == 2
    assert [await reconcile(queue), await reconcile(queue)] == ["b", "a"]
    assert queue.idle


async def test_new_keys_do_not_starve_behind_started_ones() -> None:
    queue: Queue[str] = Queue(clock=FakeClock())
    busy = [f"busy-{number}" for number in range(4 * FAIR_TURN)]
    for key in busy:
        queue.add(key)
    for _ in busy:
        await reconcile(queue)
    queue.add("initial", initial=True)
    queue.add("new")
    for key in busy:
        queue.add(key)
    taken = [await reconcile(queue) for _ in range(2 * FAIR_TURN)]
    assert "new" in taken
    assert "initial" in taken
