"""Applies and removes all objects of an installation, with an inventory of them in the cluster."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
)
from cobaltcore.cli import errors
from cobaltcore.cli.phases import Phase
from cobaltcore.engine import readiness
from cobaltcore.engine.desired import workload
from cobaltcore.runtime import errors as api_errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import SystemClock
from cobaltcore.runtime.meta import Desired, Key, Kind, Object

MANAGER = "cobalt-install"
INVENTORY = "cobalt-installation"
HELM = "meta.helm.sh/release-name"
KEPT = (CUSTOM_RESOURCE_DEFINITION, NAMESPACE)
"""Objects of the user go with them, so they are never removed."""
POLL_SECONDS = 0.5
ESTABLISHED_SECONDS = 60


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An object of an installation, as its inventory has it."""

    kind: Kind
    key: Key


def entry(desired: Desired) -> Entry:
    return Entry(desired.kind, desired.key)


def manifest(desired: Desired) -> Object:
    """The object as it is sent."""
    kind = desired.kind
    return {"apiVersion": kind.api_version, "kind": kind.kind, **desired.body}


async def inventory(client: Client, namespace: str) -> list[Entry] | None:
    """What an earlier installation has applied; None if there is none."""
    try:
        found = await client.get(CONFIG_MAP, Key(namespace, INVENTORY))
    except api_errors.NotFound:
        return None
    return msgspec.json.decode(found["data"]["objects"], type=list[Entry])


async def owned_by_helm(client: Client, wanted: Sequence[Desired]) -> str:
    """The name of a release of Helm that has the operators; empty if there is none."""
    for each in wanted:
        if each.kind == DEPLOYMENT:
            live = await _live(client, entry(each))
            notes = ((live or {}).get("metadata") or {}).get("annotations") or {}
            if HELM in notes:
                return str(notes[HELM])
    return ""


async def apply(client: Client, namespace: str, wanted: Sequence[Desired]) -> None:
    """Apply everything, with the inventory before the first object that it names."""
    spaces = [each for each in wanted if each.kind == NAMESPACE]
    definitions = [each for each in wanted if each.kind == CUSTOM_RESOURCE_DEFINITION]
    rest = [each for each in wanted if each.kind not in KEPT]
    before = await inventory(client, namespace) or []
    await _apply_all(client, [*spaces, *definitions])
    await _established(client, definitions)
    kept = [entry(each) for each in rest]
    await _write(client, namespace, list(dict.fromkeys([*kept, *before])))
    # Accounts and their rights come before the pods that use them.
    await _apply_all(client, [each for each in rest if each.kind != DEPLOYMENT])
    await _apply_all(client, [each for each in rest if each.kind == DEPLOYMENT])
    await _delete(client, [each for each in before if each not in kept])
    await _write(client, namespace, kept)


async def changes(client: Client, namespace: str, wanted: Sequence[Desired]) -> list[str]:
    """What `apply` would do, one line for each object that is not up to date."""
    found = []
    for each in wanted:
        live = await _live(client, entry(each))
        if live is None:
            found.append(f"create {name(entry(each))}")
        elif await _differs(client, each, live):
            found.append(f"change {name(entry(each))}")
    current = {entry(each) for each in wanted}
    before = await inventory(client, namespace) or []
    found += [f"delete {name(each)}" for each in before if each not in current]
    return found


async def remove(client: Client, namespace: str, entries: Sequence[Entry]) -> None:
    """Delete pods first, so that nothing acts without its rights; the inventory goes last."""
    deployments = [each for each in entries if each.kind == DEPLOYMENT]
    await _delete(client, deployments)
    await _delete(client, [each for each in entries if each.kind != DEPLOYMENT])
    await client.delete(CONFIG_MAP, Key(namespace, INVENTORY))


async def rolled_out(
    client: Client, wanted: Sequence[Desired], phase: Phase, within: timedelta
) -> None:
    """Wait until all Deployments are; explains which is not."""
    keys = [each.key for each in wanted if each.kind == DEPLOYMENT]
    waiting: dict[Key, str] = {}

    async def all_ready() -> bool:
        waiting.clear()
        for key in keys:
            found = workload.progress(await client.get(DEPLOYMENT, key))
            if not found.settled:
                waiting[key] = found.describe(key.name)
        phase.detail(f"{len(keys) - len(waiting)}/{len(keys)} ready")
        phase.result(phase.latest)
        return not waiting

    try:
        async with asyncio.timeout(within.total_seconds()):
            await _until(all_ready)
    except TimeoutError as error:
        raise errors.CommandError(
            f"operators did not become ready within {within.total_seconds():.0f} s: "
            f"{'; '.join(waiting.values())}",
            hint=f"kubectl -n {keys[0].namespace} describe pods -l c5c3.io/platform",
        ) from error


async def _apply_all(client: Client, wanted: Sequence[Desired]) -> None:
    await asyncio.gather(
        *(client.apply(each.kind, manifest(each), manager=MANAGER) for each in wanted)
    )


async def _delete(client: Client, entries: Sequence[Entry]) -> None:
    await asyncio.gather(
        *(client.delete(each.kind, each.key, propagation="Background") for each in entries)
    )


async def _established(client: Client, definitions: Sequence[Desired]) -> None:
    async def all_established() -> bool:
        found = [await client.get(each.kind, each.key) for each in definitions]
        return all(readiness.is_true(each, "Established") for each in found)

    async with asyncio.timeout(ESTABLISHED_SECONDS):
        await _until(all_established)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    clock = SystemClock()
    while not await condition():
        await clock.sleep(POLL_SECONDS)


async def _write(client: Client, namespace: str, entries: Sequence[Entry]) -> None:
    body = {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {"name": INVENTORY, "namespace": namespace},
        "data": {"objects": msgspec.json.encode(entries).decode()},
    }
    await client.apply(CONFIG_MAP, body, manager=MANAGER)


async def _live(client: Client, each: Entry) -> Object | None:
    try:
        return await client.get(each.kind, each.key)
    except api_errors.NotFound:
        return None


async def _differs(client: Client, desired: Desired, live: Object) -> bool:
    dry = await client.apply(desired.kind, manifest(desired), manager=MANAGER, dry_run=True)
    return _content(dry) != _content(live)


def _content(obj: Object) -> Object:
    """An object without what the server notes about a request."""
    noted = ("managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in noted}
    return {**obj, "metadata": metadata}


def name(each: Entry) -> str:
    place = f" in {each.key.namespace!r}" if each.key.namespace else ""
    return f"{each.kind.kind} {each.key.name!r}{place}"
