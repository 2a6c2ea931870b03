"""Everything that a network and a busy server do to requests and watches."""

import asyncio

import pytest

from cobaltcore.runtime.client import Client
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import Fault, FaultTransport, StreamFaults, is_watch, is_write
from tests.support.operating import eventually, operating, transport
from tests.support.sample import SAMPLE
from tests.support.scenario import Life


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(is_write, times=7, status=409), id="409 on every write"),
        pytest.param(
            Fault(is_write, times=4, status=429, retry_after=0.1), id="429 with Retry-After"
        ),
        pytest.param(Fault(is_write, times=7, status=500), id="500"),
        pytest.param(Fault(is_write, times=7, status=503), id="503"),
        pytest.param(Fault(is_write, times=7, reset="before"), id="reset before the request"),
        pytest.param(Fault(is_write, times=7, reset="after"), id="reset after the request"),
        pytest.param(Fault(is_write, times=5, delay=0.5), id="slow answers"),
        pytest.param(Fault(is_watch, times=8, reset="before"), id="watches refused"),
        pytest.param(Fault(is_watch, times=8, gone=True), id="410 on every watch"),
        pytest.param(Fault(is_watch, times=8, status=429), id="429 on watches"),
        pytest.param(Fault(is_watch, times=4, status=422), id="no WatchList: pages and a watch"),
    ],
)
async def test_a_lifecycle_completes_in_spite_of(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str, fault: Fault
) -> None:
    life = Life(client, namespace, ledger)
    wire = FaultTransport(transport(control_plane, "faulty"), faults=[fault])
    async with operating(wire, namespace=namespace, ledger=ledger):
        await life.create()
        await eventually(life.is_created, "the sample is created")
        await life.change()
        await eventually(life.is_changed, "the sample is changed")
        await life.end()
        await eventually(life.is_ended, "the sample is gone")
    assert fault.times == 0, "the fault happened"


@pytest.mark.parametrize(
    "streams",
    [
        pytest.param(StreamFaults(cut_after=1), id="watches cut every second"),
        pytest.param(StreamFaults(duplicate=True), id="every event twice"),
        pytest.param(StreamFaults(late=0.3), id="every event late"),
    ],
)
async def test_no_change_is_missed_with(
    control_plane: ControlPlaneHarness,
    client: Client,
    namespace: str,
    ledger: str,
    streams: StreamFaults,
) -> None:
    life = Life(client, namespace, ledger)
    wire = FaultTransport(transport(control_plane, "faulty"), streams=streams)
    async with operating(wire, namespace=namespace, ledger=ledger):
        await life.create()
        await eventually(life.is_created, "the sample is created")
        for number in range(20):
            await client.patch(SAMPLE, life.key, {"spec": {"message": str(number)}})
            await asyncio.sleep(0.15)
        await life.change()
        await eventually(life.is_changed, "the sample is changed")
        await life.end()
        await eventually(life.is_ended, "the sample is gone")


async def test_a_deletion_during_a_lost_watch_is_noticed(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    wire = FaultTransport(transport(control_plane, "faulty"), streams=StreamFaults(cut_after=1))
    async with operating(wire, namespace=namespace, ledger=ledger) as running:
        await life.create()
        await eventually(life.is_created, "the sample is created")
        wire.faults.append(Fault(is_watch, times=12, gone=True))
        await client.delete(
            running.operator.controller.sources[2].kind,
            type(life.key)(namespace, f"{life.name}-main"),
        )
        await eventually(life.is_created, "the deleted child is recreated")
