"""The operators of a control plane die at each of their API calls; their successors go on with the work."""

from cobaltcore.api import controlplane, keystone, placement
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.integration.engine import test_controlplane as subject
from tests.support.control_plane import ControlPlaneHarness
from tests.support.mortal import Mortal, approval, operators
from tests.support.operating import read

OPERATORS = operators("c5c3", "keystone", "placement", "credentials")


async def test_a_crash_at_every_api_call_converges(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    """From nothing to Ready to gone."""
    wanted = subject.a_control_plane(space)
    wanted["spec"]["services"]["placement"] = {"enabled": True}
    key = Key(space, "lab")
    mortal = Mortal(plane, OPERATORS)

    async def is_gone() -> bool:
        left = [
            await read(client, controlplane.KIND, key),
            await read(client, keystone.KIND, Key(space, "keystone")),
            await read(client, placement.KIND, Key(space, "placement")),
            await read(client, korc.USER, Key(space, "placement-service-user")),
        ]
        return left == [None] * len(left)

    async with approval(plane):
        await client.create(controlplane.KIND, wanted)
        await mortal.work_until(subject.is_ready(client, space), "from nothing to Ready")
        created = mortal.deaths
        password = await client.get(SECRET, Key(space, "keystone-db-credentials"))
        await client.delete(controlplane.KIND, key)
        await mortal.work_until(is_gone, "from Ready to gone")
    kept = await client.get(SECRET, Key(space, "keystone-db-credentials"))
    assert kept["data"] == password["data"]
    assert created > 100, "to come up takes more calls than that"
    assert mortal.deaths > created + 30, "to go takes more calls than that"
