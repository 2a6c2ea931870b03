"""What a lab provider is: small controllers that serve a third-party operator's kinds for real.

A provider is a module of this package with a PROVIDER. It starts only where the real operator is
not installed: CustomResourceDefinitions that are not the lab's own mean that it is.
"""

import asyncio
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from cobaltcore.engine.rights import Rule
from cobaltcore.lab import providers
from cobaltcore.lab.providers import crds
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key, Kind

MANAGER = "cobalt-lab-providers"
SERVED_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the process gives to its providers."""

    cluster: Cluster
    instance: str
    images: Mapping[str, str] = field(default_factory=dict)
    """Image reference by component: mariadb, rabbitmq, valkey, ceph."""
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True)
class Provider:
    """Serves `kinds`; of several versions of a kind the first is stored."""

    name: str
    kinds: tuple[Kind, ...]
    controllers: Callable[[Setting], Iterable[Controller]]
    makes: tuple[Kind, ...] = ()
    """Kinds that it creates, changes and deletes, apart from its own."""
    extra: tuple[Rule, ...] = ()
    """Rights beyond those."""
    images: tuple[str, ...] = ()
    """Components whose images its servers run."""


def discover() -> dict[str, Provider]:
    """All providers by name."""
    found = {}
    for module in pkgutil.iter_modules(providers.__path__, f"{providers.__name__}."):
        provider = getattr(importlib.import_module(module.name), "PROVIDER", None)
        if provider is not None:
            found[provider.name] = provider
    return found


async def install(client: Client, provider: Provider) -> bool:
    """Install the provider's kinds; False if the real operator serves them already."""
    manifests = crds.manifests(provider.kinds, provider=provider.name)
    for manifest in manifests:
        if await _is_foreign(client, manifest["metadata"]["name"]):
            return False
    for manifest in manifests:
        await client.apply(crds.CRD, manifest, manager=MANAGER)
    async with asyncio.timeout(SERVED_WITHIN.total_seconds()):
        for manifest in manifests:
            while not await _is_served(client, manifest["metadata"]["name"]):
                await SystemClock().sleep(0.05)
    return True


async def _is_served(client: Client, name: str) -> bool:
    known = await client.get(crds.CRD, Key("", name))
    conditions = (known.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def _is_foreign(client: Client, name: str) -> bool:
    try:
        known = await client.get(crds.CRD, Key("", name))
    except errors.NotFound:
        return False
    return crds.LABEL not in (known["metadata"].get("labels") or {})
