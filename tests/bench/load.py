"""The load on the API server: widgets created and changed with a bounded number of open requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Key, WatchScope
from cobaltcore.runtime.store import Change
from tests.bench.operators.meter import Arrivals
from tests.bench.widget import WIDGET, a_change, a_widget

T = TypeVar("T")
OPEN_REQUESTS = 8


class Load:
    """Writes to the widgets of one namespace; every change has a higher number than those before."""

    def __init__(self, client: Client, namespace: str, *, objects: int) -> None:
        self._client = client
        self._names = [f"widget-{number:05}" for number in range(objects)]
        self.namespace = namespace
        self.number = 1
        self.common = 1
        """The last round that all widgets took part in."""

    async def create(self) -> None:
        """Create all widgets."""

        async def make(name: str) -> None:
            widget = a_widget(name, self.namespace, number=self.number)
            await self._client.create(WIDGET, widget)

        await _bounded(make, self._names)

    async def change_all(self) -> None:
        """Change every widget once."""
        self.number += 1
        self.common = self.number
        await _bounded(self._change, self._names)

    async def change_slowly(self, count: int, *, per_second: float) -> None:
        """Change some widgets, one after the other in equal steps of time."""
        self.number += 1
        async with asyncio.TaskGroup() as group:
            for name in self._names[:count]:
                group.create_task(self._change(name))
                await asyncio.sleep(1 / per_second)

    async def storm(self, count: int) -> None:
        """Change the first widget all the time."""
        first = self._names[0]

        async def change(_: int) -> None:
            self.number += 1
            await self._change(first)

        await _bounded(change, range(count - 1))
        await change(0)

    async def _change(self, name: str) -> None:
        patch = a_change(number=self.number)
        await self._client.patch(WIDGET, Key(self.namespace, name), patch)


class Answers:
    """What operators wrote into the widgets, seen from outside."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self._observed: dict[Key, int] = {}
        self._changed = asyncio.Event()

    def take(self, change: Change) -> None:
        """Note the answer in a changed widget."""
        self.arrivals.saw(change.key.name, change.latest["spec"])
        status = change.latest.get("status") or {}
        self._observed[change.key] = status.get("observed", 0)
        self._changed.set()

    async def complete(self, *, number: int, objects: int) -> None:
        """Wait until `objects` widgets are answered in round `number` or later."""
        while sum(each >= number for each in self._observed.values()) < objects:
            self._changed.clear()
            await self._changed.wait()


@asynccontextmanager
async def answers(client: Client, namespace: str) -> AsyncIterator[Answers]:
    """Watch the widgets of a namespace."""
    informer = Informer(client, WIDGET, WatchScope(namespace))
    found = Answers()
    informer.on_change(found.take)
    following = asyncio.ensure_future(informer.run())
    try:
        yield found
    finally:
        following.cancel()
        await asyncio.wait({following})


async def _bounded(work: Callable[[T], Awaitable[None]], items: Iterable[T]) -> None:
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(OPEN_REQUESTS):
            group.create_task(worker())
