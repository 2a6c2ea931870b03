"""Everything that a diagnosis needs, read from the API server."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from cobaltcore.api import base
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    EVENT,
    JOB,
    MUTATING_WEBHOOK_CONFIGURATION,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.cli import expiry, listing
from cobaltcore.cli.caches import Caches
from cobaltcore.deploy import operators, rbac
from cobaltcore.engine import podfailures
from cobaltcore.engine.diagnosis.facts import Facts, Named, named
from cobaltcore.engine.diagnosis.pods import DNS
from cobaltcore.engine.prospect import Prospect
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope, key_of

IN_NAMESPACES = (
    DAEMON_SET,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    EVENT,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SERVICE,
    STATEFUL_SET,
)
"""Kinds of which operators see their own objects only."""
EVERYWHERE = (
    NODE,
    STORAGE_CLASS,
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
Objects = dict[Kind, dict[Key, Object]]


async def facts(client: Client, caches: Caches, namespaces: Iterable[str] = ()) -> Facts:
    """Copy what concerns objects of ours, in their namespaces and further ones."""
    objects = _cached(caches)
    own = [named(kind, obj) for kind in caches.reconcilers for obj in objects[kind].values()]
    platform = await _platform(client)
    spaces = {each.key.namespace for each in (*own, *platform)} | {DNS.namespace, *namespaces}
    for kind, found in await _listed(client, sorted(spaces - {""})):
        objects.setdefault(kind, {}).update({key_of(each): each for each in found})
    prospects = await _prospects(caches, own)
    return Facts(
        now=datetime.now(UTC),
        objects=objects,
        prospects=prospects,
        unserved=caches.unserved,
        required=caches.required,
        expiries=await _expiries(client, objects, prospects),
        platform=platform,
    )


def _cached(caches: Caches) -> Objects:
    served = {each.kind for each in base.definitions()} | set(caches.kinds)
    return {
        kind: {key_of(each): each for each in caches.cluster.informer(kind).objects()}
        for kind in served
        if kind in caches.kinds
    }


async def _prospects(caches: Caches, own: Iterable[Named]) -> dict[Named, Prospect]:
    found = {}
    for each in own:
        live = caches.cluster.informer(each.kind).get(each.key)
        try:
            if live is not None:
                found[each] = await caches.reconcilers[each.kind].planned(live)
        except (msgspec.ValidationError, errors.RuntimeFault):
            # Its operator meets the same error and reports it on the object.
            continue
    return found


async def _listed(client: Client, namespaces: list[str]) -> list[tuple[Kind, list[Object]]]:
    scopes = [(kind, WatchScope(namespace=n)) for kind in IN_NAMESPACES for n in namespaces]
    scopes += [(kind, WatchScope()) for kind in EVERYWHERE]
    return await listing.all_of(client, scopes)


async def _platform(client: Client) -> list[Named]:
    """Deployments that run our operators, and those of a lab that act for third parties."""
    found = await listing.objects(client, DEPLOYMENT, WatchScope(selector=rbac.LABEL))
    own = sorted(found, key=lambda each: each["metadata"]["name"] != operators.NAME)
    return [named(DEPLOYMENT, each) for each in own]


async def _expiries(
    client: Client, known: Objects, prospects: dict[Named, Prospect]
) -> dict[Key, datetime]:
    """Of certificates that our objects name, or that pods mount which are not ready."""
    contents = {
        key: content
        for prospect in prospects.values()
        for (kind, key), content in prospect.contents.items()
        if kind == SECRET
    }
    mounted = {key for pod in known.get(POD, {}).values() for key in _mounted(pod)}
    for key in sorted(mounted & known.get(SECRET, {}).keys() - contents.keys()):
        try:
            contents[key] = await client.get(SECRET, key)
        except errors.NotFound:
            continue
    dates = {key: expiry.until(content) for key, content in contents.items()}
    return {key: date for key, date in dates.items() if date is not None}


def _mounted(pod: Object) -> Iterator[Key]:
    if podfailures.is_ready(pod):
        return
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName")
        if name:
            yield Key(pod["metadata"]["namespace"], name)
