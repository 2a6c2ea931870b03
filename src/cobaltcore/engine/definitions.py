"""Finds the definitions of services by walking folders; no list is kept by hand. Pure."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from cobaltcore.engine.definition import AnyService

PACKAGE = "cobaltcore.services"


@cache
def services() -> tuple[AnyService, ...]:
    """Every folder below services is one."""
    return tuple(_services())


def load(folder: str) -> AnyService:
    """The definition in a folder; imports no other."""
    service: AnyService = importlib.import_module(f"{PACKAGE}.{folder}.definition").SERVICE
    return service


def _services() -> Iterator[AnyService]:
    root = importlib.import_module(PACKAGE)
    for folder in pkgutil.iter_modules(root.__path__):
        yield load(folder.name)
