import asyncio
from datetime import timedelta

from prometheus_client import CollectorRegistry

from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.counting import Histogram
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.metrics import REGISTRY


def _value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_queue_depth_and_reconciles_are_exported() -> None:
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
    assert _value("cobalt_reconciles_total", controller="depth", outcome="done") == 3
    assert _value("cobalt_reconcile_seconds_count", controller="depth") == 3


def test_durations_are_exported_as_a_histogram() -> None:
    registry = CollectorRegistry()
    took = Histogram("sample_seconds", "A sample", ["of"], bounds=(0.1, 2), registry=registry)
    for seconds in (0.1, 0.5, 1, 7):
        took.labels("this").observe(seconds)
    up_to = {
        bound: registry.get_sample_value("sample_seconds_bucket", {"of": "this", "le": bound})
        for bound in ("0.1", "2.0", "+Inf")
    }
    assert up_to == {"0.1": 1, "2.0": 3, "+Inf": 4}
    assert registry.get_sample_value("sample_seconds_sum", {"of": "this"}) == 8.6
