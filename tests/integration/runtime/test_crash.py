"""The operator dies at each of its API calls in turn; the next one finishes the work."""

from collections.abc import Awaitable, Callable

import pytest

from cobaltcore.runtime.client import Client
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, FaultTransport, When
from tests.support.operating import Operating, eventually, operating, transport
from tests.support.scenario import Life

Act = tuple[Callable[[], Awaitable[None]], Callable[[], Awaitable[bool]]]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_every_api_call_converges(
    control_plane: ControlPlaneHarness, client: Client, ledger: str, when: When
) -> None:
    call = 1
    while await _crashes(control_plane, client, ledger, CrashPoint(call, when)):
        call += 1
    assert call > 15, "a whole life takes more calls than that"


async def _crashes(
    plane: ControlPlaneHarness, client: Client, ledger: str, point: CrashPoint
) -> bool:
    """Live through everything with one crash; False once there are fewer calls than that."""
    namespace = plane.create_namespace("crash")
    life = Life(client, namespace, ledger)
    acts: list[Act] = [
        (life.create, life.is_created),
        (life.change, life.is_changed),
        (life.end, life.is_ended),
    ]
    doomed = FaultTransport(transport(plane, "doomed"), crash=point)
    async with operating(doomed, namespace=namespace, ledger=ledger) as running:
        done = 0
        for act, check in acts:
            await act()
            await eventually(_or_crashed(check, running), f"act {done} with a crash at {point}")
            if running.crashed:
                break
            done += 1
        crashed = running.crashed
    if crashed:
        wire = transport(plane, "survivor")
        async with operating(wire, namespace=namespace, ledger=ledger):
            await eventually(acts[done][1], f"act {done} after a crash at {point}")
            for act, check in acts[done + 1 :]:
                await act()
                await eventually(check, f"an act after a crash at {point}")
    return crashed


def _or_crashed(
    check: Callable[[], Awaitable[bool]], running: Operating
) -> Callable[[], Awaitable[bool]]:
    async def either() -> bool:
        return running.crashed or await check()

    return either
