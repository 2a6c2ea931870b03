"""Brings operators and providers into a cluster, or takes them out of it."""

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
from cobaltcore.lab import home
from cobaltcore.lab.platform import accounts, waiting
from cobaltcore.runtime import kubeconfig
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.transport import HttpTransport

MANAGER = "cobalt-up"


@asynccontextmanager
async def connected(place: home.Home) -> AsyncIterator[Client]:
    """Speak to a lab's API server as its administrator."""
    connection = kubeconfig.load(place.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent=MANAGER))
    try:
        yield client
    finally:
        await client.close()


async def kinds(client: Client) -> None:
    """Have our kinds served."""
    manifests = crd.manifests()
    await asyncio.gather(*(_send(client, CUSTOM_RESOURCE_DEFINITION, each) for each in manifests))
    await waiting.served(client, [key_of(each) for each in manifests])


async def apply(client: Client, objects: Iterable[Desired]) -> None:
    """Apply objects at once; none of them waits for another."""
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
    """Remove roles of operators and providers that are no more."""
    names = {(each.kind, each.body["metadata"]["name"]) for each in kept}
    for kind in (CLUSTER_ROLE_BINDING, CLUSTER_ROLE):
        async for page, _ in client.list_pages(kind, Scope(selector=accounts.LABEL)):
            for found in page:
                if (kind, found["metadata"]["name"]) not in names:
                    await client.delete(kind, key_of(found))


async def remove_workloads(client: Client) -> None:
    """Remove the Deployments, and return when their pods are gone."""
    for account in accounts.ALL:
        key = Key(accounts.NAMESPACE, account)
        await client.delete(DEPLOYMENT, key, propagation="Background")
    await waiting.no_pods(client)


async def _send(client: Client, kind: Kind, body: Object) -> None:
    await client.apply(kind, body, manager=MANAGER)
