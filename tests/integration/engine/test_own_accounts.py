"""A control plane by operators that run apart, each with its own account: no right is missing."""

from contextlib import AsyncExitStack

from cobaltcore.api import controlplane
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.integration.engine.test_controlplane import a_control_plane, is_ready
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, read
from tests.support.services import serving

FORBIDDEN = 403
OPERATORS = ("barbican", "c5c3", "credentials", "keystone", "placement")


async def test_control_plane_comes_up_and_goes_with_one_account_for_each_operator(
    plane: ControlPlaneHarness, client: Client, space: str
) -> None:
    wanted = a_control_plane(space)
    for each in ("barbican", "placement"):
        wanted["spec"]["services"][each] = {"enabled": True}
    key = Key(space, "lab")
    await client.create(controlplane.KIND, wanted)

    async def is_gone() -> bool:
        return await read(client, controlplane.KIND, key) is None

    mark = plane.mark()
    async with AsyncExitStack() as stack:
        running = [await stack.enter_async_context(serving(plane, [n])) for n in OPERATORS]
        await eventually(is_ready(client, space), "the control plane is Ready", seconds=240)
        await client.delete(controlplane.KIND, key)
        await eventually(is_gone, "the control plane is gone", seconds=120)
        assert not any(each.task.done() for each in running)
    calls = plane.audit(since=mark, agent="service-operator")
    assert calls
    assert [each for each in calls if each.status.code == FORBIDDEN] == []
