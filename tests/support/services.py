"""A service operator on simulated nodes, with third-party operators that report ready at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from cobaltcore.api.foreign import certmanager, gateway, korc, mariadb, rabbitmq, rook, valkey
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import registry
from cobaltcore.engine.context import Context
from cobaltcore.engine.desired import secret
from cobaltcore.engine.desired.names import PART_OF
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Reconcile, Source, itself
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Kind, Object
from cobaltcore.runtime.transport import Transport
from cobaltlab.providers import crds
from tests.support.control_plane import ControlPlaneHarness
from tests.support.openstack_peer import Peer, Route, peer
from tests.support.operating import transport
from tests.support.rights import as_operator

FOREIGN = (
    mariadb.MARIADB,
    mariadb.DATABASE,
    mariadb.USER,
    mariadb.GRANT,
    rabbitmq.CLUSTER,
    rabbitmq.VHOST,
    rabbitmq.USER,
    rabbitmq.PERMISSION,
    valkey.VALKEY,
    certmanager.CERTIFICATE,
    certmanager.ISSUER,
    rook.CEPH_BLOCK_POOL,
    rook.CEPH_CLIENT,
    korc.DOMAIN,
    korc.PROJECT,
    korc.ROLE,
    korc.SERVICE,
    korc.ENDPOINT,
    korc.USER,
    korc.ROLE_ASSIGNMENT,
    korc.APPLICATION_CREDENTIAL,
    gateway.REFERENCE_GRANT,
)


def foreign_crds() -> list[Object]:
    """Definitions of the third-party kinds that services use."""
    return crds.manifests(FOREIGN, provider="simulated")


UNSERVED: set[tuple[str, str]] = set()
"""Groups and namespaces whose third-party objects stay without a status."""


class Approval:
    """Reports every third-party object as ready."""

    def __init__(self, cluster: Cluster, kinds: Iterable[Kind]) -> None:
        self._cluster = cluster
        self.controllers = [
            Controller(f"approve-{kind}", self._of(kind), [Source(kind, itself)]) for kind in kinds
        ]

    def _of(self, kind: Kind) -> Reconcile:
        async def approve(key: Key) -> timedelta | None:
            found = self._cluster.informer(kind).get(key)
            if (kind.group, key.namespace) in UNSERVED:
                return None
            if found is not None and not found.get("status"):
                if kind == certmanager.CERTIFICATE:
                    await self._issue(found)
                types = ("Ready", "AllReplicasReady", "Available")
                reported = [
                    {"type": each, "status": "True", "reason": "Simulated"} for each in types
                ]
                status = {"conditions": reported, "phase": "Ready", "id": found["metadata"]["uid"]}
                patch = {"status": status}
                await self._cluster.client.patch(kind, key, patch, subresource="status")
            return None

        return approve

    async def _issue(self, certificate: Object) -> None:
        key = Key(certificate["metadata"]["namespace"], certificate["spec"]["secretName"])
        values = dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "simulated")
        body = secret.secret(key, values, labels={}).body
        with suppress(errors.AlreadyExists):
            await self._cluster.client.create(SECRET, {**body, "type": "kubernetes.io/tls"})


@dataclass(slots=True)
class Serving:
    """Running service operators."""

    controllers: list[Controller]
    manager: Manager
    task: asyncio.Task[None]
    openstack: Peer
    """Every API that they ask."""

    async def rests(self) -> bool:
        queues = [each.queue for each in self.controllers]
        return self.manager.ready.is_set() and all(not queue.busy for queue in queues)


@asynccontextmanager
async def serving(
    plane: ControlPlaneHarness,
    names: Iterable[str],
    *,
    wire: Transport | None = None,
    others: Callable[[Context], Iterable[Controller]] = lambda context: (),
    watched: str = "",
) -> AsyncIterator[Serving]:
    """Run operators and other controllers, and approve third-party objects."""
    names = set(names)
    client = Client(wire or as_operator(plane, "service-operator", *names))
    helper = Client(transport(plane, "approval"))
    labels = {"app.kubernetes.io/part-of": PART_OF}
    cluster, other = Cluster(client, content_labels=labels, namespace=watched), Cluster(helper)
    chosen = [each for each in registry.operators() if each.name in names]
    approval = Manager({"local": other}, Approval(other, FOREIGN).controllers)
    async with peer() as openstack:
        context = Context(cluster, "test", openstack=Route(openstack))
        controllers = [found for each in chosen for found in each.controllers(context)]
        controllers += others(context)
        manager = Manager({"local": cluster}, controllers)
        tasks = [asyncio.ensure_future(approval.run()), asyncio.ensure_future(manager.run())]
        try:
            yield Serving(controllers, manager, tasks[1], openstack)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await client.close()
            await helper.close()
