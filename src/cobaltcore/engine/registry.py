"""Finds operators: one per service, and folders with logic of their own; no list is kept by hand."""

import importlib.util
from collections.abc import Iterator

from cobaltcore.api import base
from cobaltcore.engine import definitions, operator
from cobaltcore.engine.apiprobe import ApiProbe
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.operator import Operator
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.meta import Kind

OPERATORS = "cobaltcore.operators"


def operators() -> Iterator[Operator]:
    """One operator per service, and those with logic of their own."""
    for service in definitions.services():
        yield _of_service(service)
    yield from operator.discover(OPERATORS)


def kinds_without_operator() -> list[Kind]:
    """Kinds that the API server accepts and that no operator of this release serves."""
    served = {kind for each in operators() for kind in each.rights.serves}
    return [each.kind for each in base.definitions() if each.kind not in served]


def find(name: str) -> Operator | None:
    """The operator of that name; imports no other if its folder has the same name."""
    if _is_folder(definitions.PACKAGE, name):
        return _of_service(definitions.load(name))
    if _is_folder(OPERATORS, name):
        found = operator.load(f"{OPERATORS}.{name}")
        if found.name == name:
            return found
    return next((each for each in operators() if each.name == name), None)


def _of_service(service: AnyService) -> Operator:
    planner = ServicePlanner(service, probes=ApiProbe().probes())
    return Operator(service.name, (planner,))


def _is_folder(package: str, name: str) -> bool:
    return name.isidentifier() and importlib.util.find_spec(f"{package}.{name}") is not None
