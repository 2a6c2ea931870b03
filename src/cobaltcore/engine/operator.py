"""What an operator is to the process that runs it, and how the process finds all of them."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cobaltcore.engine.rights import Rights
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.clock import Clock, SystemClock
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller


@dataclass(frozen=True, slots=True)
class Context:
    """What the process gives to its operators."""

    cluster: Cluster
    instance: str
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True)
class Operator:
    """A set of controllers that is deployed together."""

    name: str
    controllers: Callable[[Context], Iterable[Controller]]
    webhooks: Callable[[Context, Webhooks], None] = lambda context, table: None
    rights: Rights = field(default_factory=Rights)
    """What its controllers write; what they read follows from their sources."""


def discover(package: str) -> Iterator[Operator]:
    """The operators below a package: every module `operator` with an OPERATOR."""
    root = importlib.import_module(package)
    for folder in pkgutil.iter_modules(root.__path__, f"{package}."):
        if folder.ispkg:
            module = importlib.import_module(f"{folder.name}.operator")
            operator: Operator = module.OPERATOR
            yield operator
