"""An operator: planners that are deployed together, with their webhooks and RBAC."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cobaltcore.engine.context import Context
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.engine.rights import Rights, Rule
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Kind


@dataclass(frozen=True, slots=True)
class Operator:
    """One deployable set of planners."""

    name: str
    planners: Sequence[Planner[Any]]
    webhooks: Callable[[Context, Webhooks], None] = lambda context, table: None
    reports_on: tuple[Kind, ...] = ()
    """Further kinds whose status and finalizers it writes."""
    extra: tuple[Rule, ...] = ()

    def controllers(self, context: Context) -> list[Controller]:
        reconcilers = [Reconciler(planner, context) for planner in self.planners]
        return [controller for each in reconcilers for controller in each.controllers]

    @property
    def rights(self) -> Rights:
        """What its controllers write; what they read follows from their sources."""
        children = (child.kind for planner in self.planners for child in planner.children)
        return Rights(
            serves=(*(planner.kind for planner in self.planners), *self.reports_on),
            creates=tuple(dict.fromkeys(children)),
            extra=self.extra,
        )


def discover(package: str) -> Iterator[Operator]:
    """The operators below a package: every module `operator` with an OPERATOR."""
    root = importlib.import_module(package)
    for folder in pkgutil.iter_modules(root.__path__, f"{package}."):
        if folder.ispkg:
            yield load(folder.name)


def load(package: str) -> Operator:
    """The OPERATOR of a package."""
    operator: Operator = importlib.import_module(f"{package}.operator").OPERATOR
    return operator
