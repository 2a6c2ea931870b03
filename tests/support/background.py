"""Operators that run in a thread, while a test talks to the API server as a person would."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any


@contextmanager
def running(start: Callable[[], AbstractAsyncContextManager[Any]]) -> Iterator[None]:
    """Enter an asynchronous context in a loop of its own; leave it at the end of the block."""
    loop = asyncio.new_event_loop()
    stop, started = asyncio.Event(), threading.Event()
    failures: list[BaseException] = []

    async def hold() -> None:
        async with start():
            started.set()
            await stop.wait()

    def work() -> None:
        try:
            loop.run_until_complete(hold())
        except BaseException as error:  # noqa: BLE001 raised in the test's thread
            failures.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=work, name="operators")
    thread.start()
    started.wait()
    try:
        yield
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failures:
        raise failures[0]
