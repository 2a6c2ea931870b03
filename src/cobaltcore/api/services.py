"""`spec.services` of a ControlPlane: a field for every service, from the modules of their kinds."""

import importlib
import pkgutil
import types
from typing import TYPE_CHECKING, Any, TypeVar

import cobaltcore.api
from cobaltcore.api import toggles
from cobaltcore.api.base import Rule, Struct
from cobaltcore.api.toggles import Block, ServiceToggle

IDENTITY = "keystone"
BlockT = TypeVar("BlockT", bound=ServiceToggle)


def names() -> list[str]:
    """Services that a ControlPlane can run."""
    return [each.name for each in _found()]


def any_enabled(prefix: str) -> str:
    """CEL: whether a service that needs Keystone is on; `prefix` leads to the services."""
    others = (name for name in names() if name != IDENTITY)
    return " || ".join(f"{prefix}.{name}.enabled" for name in others)


def of(services: "Services", name: str) -> ServiceToggle:
    """The block of a service."""
    found: ServiceToggle = getattr(services, name)
    return found


def _found() -> list[Block]:
    for module in pkgutil.iter_modules(cobaltcore.api.__path__, "cobaltcore.api."):
        # The one that is built on this module.
        if module.name != "cobaltcore.api.controlplane":
            importlib.import_module(module.name)
    return toggles.blocks()


def _rules(found: list[Block]) -> tuple[Rule, ...]:
    return (
        Rule(
            f"self.{IDENTITY}.enabled || !({any_enabled('self')})",
            f"{IDENTITY}: cannot be off while another service is on",
            IDENTITY,
        ),
        *(_needs(each) for each in found if each.needs),
    )


def _needs(block: Block) -> Rule:
    wanted = " && ".join(f"self.{name}.enabled" for name in block.needs)
    *most, last = block.needs
    listed = f"{', '.join(most)} and {last}" if most else last
    return Rule(
        f"!self.{block.name}.enabled || ({wanted})",
        f"{block.name}: needs {listed}",
        block.name,
    )


def _struct() -> type[Struct]:
    found = _found()
    fields: dict[str, Any] = {each.name: each.struct() for each in found}
    body = {
        "__doc__": "OpenStack services.",
        "__module__": __name__,
        "__annotations__": {each.name: each.struct for each in found},
        "__rules__": _rules(found),
        **fields,
    }
    return types.new_class(
        "Services", (Struct,), exec_body=lambda namespace: namespace.update(body)
    )


if TYPE_CHECKING:

    class Services(Struct):
        """One field for each service; read with `of`."""

else:
    Services = _struct()
