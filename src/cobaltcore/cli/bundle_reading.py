"""What a support bundle has in it: objects, events, logs, versions, what the other commands find."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, POD, REPLICA_SET, SECRET
from cobaltcore.cli import bundle, caches, gathering, listing, overview_reading
from cobaltcore.cli.podlogs import Source, sources
from cobaltcore.engine.diagnosis import checks, walk
from cobaltcore.engine.diagnosis.facts import Facts, Named
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Kind, Object, WatchScope, key_of

LINES = 1000
"""Of each log."""
AT_ONCE = 8
FURTHER = (CONFIG_MAP, REPLICA_SET)
"""Kinds in namespaces of ours that a diagnosis does not need."""


@dataclass(slots=True)
class Gathered:
    """Files by name, before anything is hidden, and the Secrets whose values are hidden."""

    files: dict[str, str] = field(default_factory=dict)
    secrets: list[Object] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What could not be read, and why."""

    def add(self, name: str, value: object) -> None:
        self.files[name] = msgspec.json.format(msgspec.json.encode(value)).decode() + "\n"


async def gather(client: Client) -> Gathered:
    """Everything, as the user may read it."""
    found = Gathered()
    async with caches.filled(client, frozen=True) as cached:
        facts = await gathering.facts(client, cached)
    found.add("versions.json", await _versions(client))
    found.add("status.json", asdict(await overview_reading.read(client)))
    found.add("doctor.json", [asdict(each) for each in checks.checks(facts)])
    found.add("why.json", list(_explained(facts)))
    namespaces = sorted({each.namespace for each in facts.objects.get(POD, {})})
    scopes = [(k, WatchScope(namespace=n)) for k in (*FURTHER, SECRET) for n in namespaces]
    listed = await listing.all_of(client, scopes)
    found.secrets = [each for kind, known in listed if kind == SECRET for each in known]
    whole = [(k, list(known.values())) for k, known in facts.objects.items() if k != SECRET]
    for kind, objects in [*whole, *listed]:
        _add_objects(found, kind, objects)
    await _add_logs(client, found, facts)
    return found


async def _versions(client: Client) -> dict[str, Any]:
    server = msgspec.json.decode(await client.raw("/version"))
    return {"cobalt": version("cobaltcore"), "kubernetes": server}


def _explained(facts: Facts) -> Iterator[dict[str, Any]]:
    for each in facts.prospects:
        broken = walk.first_broken(facts, each)
        if broken is not None:
            path = [_name(step) for step in broken.path]
            yield {"path": path, "reason": broken.cause.reason, "message": broken.cause.message}


def _name(named: Named) -> str:
    return f"{named.kind.kind}/{named.key}"


def _add_objects(found: Gathered, kind: Kind, objects: Iterable[Object]) -> None:
    for each in objects:
        key = key_of(each)
        place = f"{key.namespace or 'cluster'}/{kind}"
        found.files[f"objects/{place}/{key.name}.yaml"] = bundle.manifest(kind, each)


async def _add_logs(client: Client, found: Gathered, facts: Facts) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def add(source: Source, *, previous: bool) -> None:
        params = {"container": source.container, "tailLines": str(LINES), "timestamps": "true"}
        params |= {"previous": "true"} if previous else {}
        name = f"logs/{source.pod}/{source.container}{'.previous' if previous else ''}.log"
        async with gate:
            try:
                text = await client.raw(source.path, params=params)
            except (errors.ApiError, errors.Unreachable) as error:
                found.missing.append(f"{name}: {error.message}")
                return
        found.files[name] = text.decode(errors="replace")

    pods = list(facts.of(POD))
    wanted = [
        (each, before) for before in (False, True) for each in sources(pods, previous=before)
    ]
    await asyncio.gather(*(add(each, previous=before) for each, before in wanted))
