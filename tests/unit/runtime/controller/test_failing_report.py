"""A failure that cannot be reported does not end the worker."""

import asyncio
from datetime import timedelta

import pytest

from cobaltcore.runtime import errors
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key


@pytest.mark.parametrize("error", [KeyError("generation"), errors.Unreachable("no response")])
async def test_worker_continues_when_the_report_of_a_failure_fails(error: Exception) -> None:
    reconciled = asyncio.Event()

    async def reconcile(key: Key) -> timedelta | None:
        if key.name == "bad":
            raise ValueError("bad")
        reconciled.set()
        return None

    async def failed(key: Key, cause: Exception, failures: int) -> None:
        raise error

    controller = Controller("report", reconcile, [], workers=1, failed=failed)
    controller.queue.add(Key("ns", "bad"))
    controller.queue.add(Key("ns", "good"))
    running = asyncio.ensure_future(controller.run())
    await asyncio.wait_for(reconciled.wait(), 10)
    controller.stop()
    await asyncio.wait_for(running, 10)
