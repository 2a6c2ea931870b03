"""The clock of leases continues while the machine is suspended."""

import time

import pytest

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.lease import Election, Timing
from cobaltcore.runtime.meta import Key, Kind
from tests.support.memory_server import MemoryServer

WIDGET = Kind("tests.c5c3.io", "v1", "Widget", "widgets")


async def test_leader_on_a_machine_that_slept_longer_than_its_lease_does_not_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = MemoryServer()
    client = Client(server)
    slept = 0.0
    real = time.clock_gettime

    def clock_gettime(which: int) -> float:
        """As the kernel has it: only the clock that counts from boot has gone on."""
        return real(which) + (slept if which == time.CLOCK_BOOTTIME else 0.0)

    monkeypatch.setattr(time, "clock_gettime", clock_gettime)
    refused: list[errors.LeaseExpired] = []

    async def work() -> None:
        nonlocal slept
        widget = {"metadata": {"name": "w", "namespace": "ns"}}
        await client.apply(WIDGET, widget, manager="test")
        slept = Timing().duration.total_seconds() + 1
        try:
            await client.apply(WIDGET, widget, manager="test")
        except errors.LeaseExpired as expired:
            refused.append(expired)

    election = Election(client, Key("ns", "operator"), identity="one", clock=SystemClock())
    await election.lead(work)
    assert len(server.writes) == 1
    assert len(refused) == 1
