"""Applies CRDs and objects to a lab's cluster, and removes outdated ones."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from cobaltcore.api import crd
from cobaltcore.api.foreign.kubernetes import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
)
from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, WatchScope, key_of
from cobaltlab import statedir
from cobaltlab.platform import rbac, readiness

MANAGER = "cobalt-up"


@asynccontextmanager
async def connected(state_dir: statedir.StateDir) -> AsyncIterator[Client]:
    """A client of a lab's API server as cluster administrator."""
    connection = kubeconfig.load(state_dir.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent=MANAGER))
    try:
        yield client
    finally:
        await client.close()


async def crds(client: Client) -> None:
    """Apply the CRDs of the product and wait until they are established."""
    manifests = crd.manifests()
    await asyncio.gather(*(_send(client, CUSTOM_RESOURCE_DEFINITION, each) for each in manifests))
    await readiness.crds_established(client, [key_of(each) for each in manifests])


async def apply(client: Client, objects: Iterable[Desired]) -> None:
    """Apply objects concurrently."""
    await asyncio.gather(
        *(
            _send(
                client,
                each.kind,
                {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body},
            )
            for each in objects
        )
    )


async def prune_roles(client: Client, kept: Iterable[Desired]) -> None:
    """Delete roles and bindings of operators and providers that no longer exist."""
    names = {(each.kind, each.body["metadata"]["name"]) for each in kept}
    for kind in (CLUSTER_ROLE_BINDING, CLUSTER_ROLE):
        async for page, _ in client.list_pages(kind, WatchScope(selector=rbac.LABEL)):
            for found in page:
                if (kind, found["metadata"]["name"]) not in names:
                    await client.delete(kind, key_of(found))


async def remove_workloads(client: Client) -> None:
    """Delete the Deployments and wait until their pods are deleted."""
    for account in rbac.ALL:
        key = Key(rbac.NAMESPACE, account)
        await client.delete(DEPLOYMENT, key, propagation="Background")
    await readiness.pods_gone(client)


async def _send(client: Client, kind: Kind, body: Object) -> None:
    await client.apply(kind, body, manager=MANAGER)
