import dataclasses

from cobaltcore.runtime.client import Client
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, operating, transport
from tests.support.scenario import Life


async def test_the_operator_outlives_a_killed_api_server(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    wire = transport(control_plane, "outliving")
    async with operating(wire, namespace=namespace, ledger=ledger) as running:
        await life.create()
        await eventually(life.is_created, "the sample is created")
        control_plane.restart_apiserver(kill=True)
        # The connections of the test's own client died with the server.
        again = Client(transport(control_plane, "test-observer"))
        life = dataclasses.replace(life, client=again)
        await life.change()
        await eventually(life.is_changed, "the sample is changed")
        assert not running.crashed
        await life.end()
        await eventually(life.is_ended, "the sample is gone")
        await again.close()
