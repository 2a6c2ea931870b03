"""The OVN operator dies at each of its API calls in turn; the next one continues."""

from dataclasses import dataclass

from cobaltcore.api.foreign.kubernetes import (
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS, CLUSTER
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.operators.ovn.planner import OVNPlanner
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.integration.engine import test_ovn as subject
from tests.support import simulated_ovn
from tests.support.control_plane import ControlPlaneHarness
from tests.support.mortal import Mortal
from tests.support.operating import read
from tests.support.simulated_ovn import Databases


@dataclass(frozen=True, slots=True)
class Life:
    """A network with one hypervisor, from creation to deletion."""

    client: Client
    ovn: Databases
    space: str

    @property
    def key(self) -> Key:
        return Key(self.space, "ovn")

    @property
    def node(self) -> str:
        return f"{self.space}-1"

    async def create(self) -> None:
        await subject.volumes(self.client, self.space)
        await subject.a_hypervisor(self.client, self.space, 1)
        self.ovn.chassis[self.node] = "10.0.1.1"
        await self.client.create(CLUSTER, subject.a_cluster(self.space))

    async def is_created(self) -> bool:
        ready: bool = await subject.is_ready(self.client, self.space)()
        return ready

    async def lose_node(self) -> None:
        await self.client.delete(NODE, Key("", self.node))

    async def is_drained(self) -> bool:
        left = await read(self.client, CHASSIS, Key(self.space, self.node))
        return left is None and self.ovn.removed == [self.node] and await self.is_created()

    async def end(self) -> None:
        await self.client.delete(CLUSTER, self.key)

    async def is_ended(self) -> bool:
        """Everything is gone but the data."""
        left = [
            await read(self.client, CLUSTER, self.key),
            await read(self.client, STATEFUL_SET, Key(self.space, "ovn-southbound")),
        ]
        claim = Key(self.space, "data-ovn-southbound-0")
        kept = await read(self.client, PERSISTENT_VOLUME_CLAIM, claim)
        return left == [None, None] and kept is not None


async def test_a_crash_at_every_api_call_converges(
    plane: ControlPlaneHarness, client: Client
) -> None:
    """From nothing to Ready, through the loss of a node, to gone."""
    space = plane.create_namespace("crash")
    async with simulated_ovn.databases() as ovn:
        life = Life(client, ovn, space)
        mortal = Mortal(
            plane,
            lambda context: [
                Reconciler(OVNPlanner(route=ovn.route), subject.permitting(context)).controller
            ],
        )
        for act, check in (
            (life.create, life.is_created),
            (life.lose_node, life.is_drained),
            (life.end, life.is_ended),
        ):
            await act()
            await mortal.work_until(check, act.__name__)
    assert mortal.deaths > 60, "a whole life takes more calls than that"
