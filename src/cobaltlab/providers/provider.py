"""A lab provider: small controllers that serve the kinds of a third-party operator.

A provider is a module of this package with a PROVIDER. It starts only where the real operator is
not installed: CustomResourceDefinitions without the label of the lab belong to the real one.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from cobaltcore.engine.rights import Rule
from cobaltcore.runtime import conditions, errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Key, Kind
from cobaltlab import providers, waiting
from cobaltlab.providers import crds

MANAGER = "cobalt-lab-providers"
ESTABLISHED_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Context:
    """What all providers of a process share."""

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
    controllers: Callable[[Context], Iterable[Controller]]
    manages: tuple[Kind, ...] = ()
    """Kinds that it creates, changes and deletes, apart from its own."""
    extra_rules: tuple[Rule, ...] = ()
    """RBAC rules beyond those."""
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
        if await _is_of_real_operator(client, manifest["metadata"]["name"]):
            return False
    for manifest in manifests:
        await client.apply(crds.CRD, manifest, manager=MANAGER)
    for manifest in manifests:
        is_established = partial(_is_established, client, manifest["metadata"]["name"])
        await waiting.wait_until(is_established, within=ESTABLISHED_TIMEOUT, interval=0.05)
    return True


async def _is_established(client: Client, name: str) -> bool:
    definition = await client.get(crds.CRD, Key("", name))
    return conditions.is_true(conditions.of(definition), "Established")


async def _is_of_real_operator(client: Client, name: str) -> bool:
    try:
        definition = await client.get(crds.CRD, Key("", name))
    except errors.NotFound:
        return False
    return crds.LABEL not in (definition["metadata"].get("labels") or {})
