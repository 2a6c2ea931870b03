"""OpenStack services that a ControlPlane can run: those whose definition has a part. Pure."""

from cobaltcore.engine import definitions
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.part import AnyPart
from cobaltcore.operators.controlplane.view import View

PHASES = ("Identity", "Core", "Compute")


def all_services() -> list[AnyService]:
    """Services that a ControlPlane can run, in the order of their phases."""
    found = [each for each in definitions.services() if each.part is not None]
    return sorted(found, key=lambda each: (PHASES.index(part_of(each).phase), each.name))


def with_user() -> list[AnyService]:
    """Services that have a user in Keystone and an entry in the catalogue."""
    return [each for each in all_services() if part_of(each).roles]


def part_of(service: AnyService) -> AnyPart:
    if service.part is None:
        raise LookupError(f"{service.name} is not a part of control planes")
    return service.part


def is_on(service: AnyService, view: View) -> bool:
    return view.toggle(service.name).enabled


def any_on(view: View) -> bool:
    """Whether any service is on that needs a user."""
    return any(is_on(each, view) for each in with_user())


def roles() -> list[str]:
    """Roles that any service user has."""
    return sorted({role for each in with_user() for role in part_of(each).roles})
