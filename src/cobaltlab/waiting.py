"""Asynchronous wait for a condition; synchronous code uses `cobaltcore.agents.waiting`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock


async def wait_until(
    condition: Callable[[], Awaitable[bool]],
    *,
    within: timedelta | None,
    interval: float = 0.2,
    ignore: tuple[type[Exception], ...] = (),
    clock: Clock | None = None,
) -> None:
    """Poll until the condition holds; exceptions in `ignore` count as not yet.

    Raises TimeoutError after `within`; None waits without a limit.
    """
    clock = clock or SystemClock()
    async with asyncio.timeout(within.total_seconds() if within else None):
        while not await _holds(condition, ignore):
            await clock.sleep(interval)


async def api_server_is_ready(client: Client) -> bool:
    try:
        await client.raw("/readyz")
    except (errors.Unreachable, errors.ApiError):
        return False
    return True


async def _holds(
    condition: Callable[[], Awaitable[bool]], ignore: tuple[type[Exception], ...]
) -> bool:
    try:
        return await condition()
    except ignore:
        return False
