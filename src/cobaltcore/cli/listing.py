"""Lists of objects, read at once; kinds that the API server does not serve have none."""

import asyncio
from collections.abc import Iterable

from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Kind, Object, WatchScope


async def objects(client: Client, kind: Kind, scope: WatchScope) -> list[Object]:
    """All objects of a scope; none if the kind is not served."""
    found: list[Object] = []
    try:
        async for page, _ in client.list_pages(kind, scope):
            found += page
    except errors.KindMissing:
        return []
    return found


async def all_of(
    client: Client, wanted: Iterable[tuple[Kind, WatchScope]]
) -> list[tuple[Kind, list[Object]]]:
    """The objects of several scopes, read in parallel."""
    scopes = list(wanted)
    found = await asyncio.gather(*(objects(client, kind, scope) for kind, scope in scopes))
    return [(kind, each) for (kind, _), each in zip(scopes, found, strict=True)]
