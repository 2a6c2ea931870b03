"""Finds what there is to run by walking folders; no list is kept by hand."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import partial

from cobaltcore.engine import operator, sources
from cobaltcore.engine.definition import Service
from cobaltcore.engine.operator import Context, Operator
from cobaltcore.engine.reconcile import ServiceController
from cobaltcore.engine.rights import Rights
from cobaltcore.runtime.controller import Controller

SERVICES = "cobaltcore.services"
OPERATORS = "cobaltcore.operators"


def services() -> Iterator[Service]:
    """Every folder below services is one."""
    root = importlib.import_module(SERVICES)
    for folder in pkgutil.iter_modules(root.__path__, f"{SERVICES}."):
        service: Service = importlib.import_module(f"{folder.name}.definition").SERVICE
        yield service


def operators() -> Iterator[Operator]:
    """One operator per service, and those with logic of their own."""
    for service in services():
        children = tuple(kind for kind, _ in sources.CHILDREN)
        yield Operator(
            service.name,
            partial(_controllers, service),
            rights=Rights(serves=(service.kind,), makes=children),
        )
    yield from operator.discover(OPERATORS)


def _controllers(service: Service, context: Context) -> list[Controller]:
    return [ServiceController(service, context).controller]
