import asyncio
from collections.abc import Callable
from datetime import timedelta

from cobaltcore.runtime import lease
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.lease import Election, Timing
from cobaltcore.runtime.meta import Key
from tests.support.control_plane import ControlPlaneHarness
from tests.support.faults import CrashPoint, FaultTransport
from tests.support.operating import Operating, eventually, operating, transport
from tests.support.scenario import Life

TIMING = Timing(
    duration=timedelta(seconds=4),
    renew_deadline=timedelta(seconds=2),
    retry=timedelta(seconds=0.3),
)


def candidate(namespace: str, identity: str) -> Callable[[Client], Election]:
    key = Key(namespace, "sample-operator")
    return lambda client: Election(client, key, identity=identity, timing=TIMING)


async def holder(client: Client, namespace: str) -> str:
    found = await client.get(lease.LEASE, Key(namespace, "sample-operator"))
    return str(found["spec"].get("holderIdentity") or "")


async def test_only_the_leader_writes_and_a_second_replica_takes_over_after_a_crash(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    doomed = FaultTransport(transport(control_plane, "leader-one"))
    first = operating(
        doomed, namespace=namespace, ledger=ledger, election=candidate(namespace, "one")
    )
    second = operating(
        transport(control_plane, "leader-two"),
        namespace=namespace,
        ledger=ledger,
        election=candidate(namespace, "two"),
    )
    async with first as one:
        await life.create()
        await eventually(life.is_created, "the sample is created")
        async with second as two:
            await eventually(lambda: _ready(two), "the second replica has filled its caches")
            assert await holder(client, namespace) == "one"
            assert control_plane.audit(agent="leader-two", verbs=["create", "patch"]) == []
            doomed.crash = CrashPoint(len(doomed.calls) + 1)
            await eventually(lambda: _crashed(one), "the first replica is dead")
            await life.change()
            await eventually(life.is_changed, "the second replica did it")
            assert await holder(client, namespace) == "two"


async def test_a_leader_that_stops_hands_the_lease_over_at_once(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, "polite")
    async with operating(
        wire, namespace=namespace, ledger=ledger, election=candidate(namespace, "polite")
    ) as running:
        await eventually(life.is_created, "the sample is created")
        running.manager.stop()
        await asyncio.wait_for(running.task, 30)
    assert await holder(client, namespace) == ""


async def test_a_leader_that_cannot_renew_stops_working(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    wire = transport(control_plane, "deposed")
    async with operating(
        wire, namespace=namespace, ledger=ledger, election=candidate(namespace, "deposed")
    ) as running:
        await life.create()
        await eventually(life.is_created, "the sample is created")
        found = await client.get(lease.LEASE, Key(namespace, "sample-operator"))
        found["spec"] |= {"holderIdentity": "usurper", "leaseDurationSeconds": 3600}
        await client.replace(lease.LEASE, found)
        await eventually(lambda: _deposed(running), "the leader noticed")


async def _ready(running: Operating) -> bool:
    return running.manager.ready.is_set()


async def _crashed(running: Operating) -> bool:
    return running.crashed


async def _deposed(running: Operating) -> bool:
    return not running.manager.leading
