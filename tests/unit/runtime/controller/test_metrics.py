import asyncio
from datetime import timedelta

from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.metrics import REGISTRY


def _value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_queue_depth_and_passes_are_told_as_they_are() -> None:
    going = asyncio.Event()

    async def reconcile(_: Key) -> timedelta | None:
        await going.wait()
        return None

    controller = Controller("depth", reconcile, [], workers=1)
    for name in ("one", "two", "three"):
        controller.queue.add(Key("", name))
    assert _value("cobalt_queue_depth", controller="depth") == 3
    running = asyncio.ensure_future(controller.run())
    while len(controller.queue) == 3:
        await asyncio.sleep(0)
    assert _value("cobalt_queue_depth", controller="depth") == 2
    going.set()
    while not controller.queue.idle:
        await asyncio.sleep(0)
    controller.stop()
    await running
    assert _value("cobalt_queue_depth", controller="depth") == 0
    assert _value("cobalt_passes_total", controller="depth", outcome="done") == 3
    assert _value("cobalt_pass_seconds_count", controller="depth") == 3
