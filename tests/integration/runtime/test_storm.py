import asyncio

from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, operating, transport
from tests.support.sample import CONFIG_MAP, SAMPLE
from tests.support.scenario import Life

CHANGES = 2000


async def test_2000_changes_to_one_object_take_at_most_ten_passes(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, "storm")
    async with operating(wire, namespace=namespace, ledger=ledger) as running:
        await eventually(life.is_created, "the sample is created")
        await eventually(running.rests, "the operator rests")
        before = running.reconciles(life.key)
        started = asyncio.get_running_loop().time()
        places = asyncio.Semaphore(4)

        async def change(number: int) -> None:
            async with places:
                await client.patch(SAMPLE, life.key, {"spec": {"message": f"m{number}"}})

        await asyncio.gather(*(change(number) for number in range(CHANGES)))
        await client.patch(SAMPLE, life.key, {"spec": {"message": "last"}})

        async def settled() -> bool:
            found = await client.get(CONFIG_MAP, Key(namespace, f"{life.name}-message"))
            return bool(found["data"]["message"] == "last")

        await eventually(settled, "the last change arrived")
        await eventually(running.rests, "the operator rests")
        # A machine that takes minutes to send the changes has sent more than one storm.
        seconds = asyncio.get_running_loop().time() - started
        assert running.reconciles(life.key) - before <= max(10, seconds / 3)
