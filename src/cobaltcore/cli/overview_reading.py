"""What `cobalt status` reads from the API server."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from cobaltcore.api import controlplane, nova
from cobaltcore.api.credentials import ROTATION
from cobaltcore.api.foreign import certmanager, korc
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, EVENT, NODE, POD, SECRET
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.cli import expiry, listing, servers
from cobaltcore.cli.overview import SETS, Overview, overview, service_kinds
from cobaltcore.deploy import rbac
from cobaltcore.engine.desired import names
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope

OURS = f"app.kubernetes.io/part-of={names.PART_OF}"
HYPERVISORS = ",".join(f"{label}={value}" for label, value in names.HYPERVISORS.items())
CERTIFICATE_REFS = (("tls", "secretRef"), ("global", "tls", "secretRef"), ("tls", "certSecretRef"))
"""Where specs name Secrets with certificates that users renew."""


async def read(client: Client, namespace: str = "") -> Overview:
    """The state of a cluster; of one namespace, and of nodes and operators, if one is chosen."""
    found: dict[Kind, list[Object]] = {}
    for kind, objects in await listing.all_of(client, _wanted(namespace)):
        found.setdefault(kind, []).extend(objects)
    own = [obj for kind in (controlplane.KIND, *service_kinds()) for obj in found[kind]]
    spaces = {each["metadata"]["namespace"] for each in (*own, *found[DEPLOYMENT])}
    events = [(EVENT, WatchScope(namespace=each)) for each in sorted(spaces)]
    found[EVENT] = [e for _, known in await listing.all_of(client, events) for e in known]
    dates = await _dates(client, sorted(set(_secrets(own))))
    clouds = sorted({each["metadata"]["namespace"] for each in found[nova.KIND]})
    counted = await asyncio.gather(*(servers.count(client, each) for each in clouds))
    return overview(found, now=datetime.now(UTC), dates=dates, servers=counted)


def _wanted(namespace: str) -> Iterator[tuple[Kind, WatchScope]]:
    everything = WatchScope(namespace=namespace)
    kinds = (controlplane.KIND, *service_kinds(), CHASSIS, ROTATION)
    for kind in (*kinds, certmanager.CERTIFICATE, korc.ENDPOINT):
        yield kind, everything
    for kind in SETS:
        yield kind, WatchScope(namespace=namespace, selector=OURS)
    yield DEPLOYMENT, WatchScope(selector=rbac.LABEL)
    yield NODE, WatchScope(selector=HYPERVISORS)
    yield POD, WatchScope(selector=OURS)


def _secrets(objects: Iterable[Object]) -> Iterator[Key]:
    for each in objects:
        for path in CERTIFICATE_REFS:
            value: object = each["spec"]
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            if isinstance(value, dict) and value.get("name"):
                yield Key(each["metadata"]["namespace"], value["name"])


async def _dates(client: Client, keys: list[Key]) -> dict[Key, datetime]:
    found = await asyncio.gather(*(_date(client, key) for key in keys))
    return {key: date for key, date in zip(keys, found, strict=True) if date is not None}


async def _date(client: Client, key: Key) -> datetime | None:
    try:
        return expiry.until(await client.get(SECRET, key))
    except errors.NotFound:
        return None
