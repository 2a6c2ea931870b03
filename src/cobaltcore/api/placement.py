"""Placement: inventory of resources and who uses them."""

from typing import ClassVar

from cobaltcore.api import toggles
from cobaltcore.api.base import AGE, NAME_FITS, READY, Column, Resource, Rule, Scale, resource
from cobaltcore.api.blocks import Database, Image, KeystoneAuth, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import Replicas
from cobaltcore.runtime.meta import Kind

KIND = Kind("placement.openstack.c5c3.io", "v1alpha1", "Placement", "placements")


class PlacementSpec(ServiceSpec):
    """Desired state of Placement."""

    replicas: Replicas = 2
    """Number of API pods."""
    image: Image
    """Container image of Placement."""
    database: Database
    """Database of Placement."""
    keystone: KeystoneAuth
    """How Placement authenticates with Keystone."""


class PlacementStatus(ServiceStatus):
    """Observed state of Placement."""


@resource(
    KIND,
    short_names=("plc",),
    columns=(READY, Column("Endpoint", ".status.endpoint"), AGE),
    scale=Scale(),
)
class Placement(Resource[PlacementSpec, PlacementStatus]):
    """Placement, the inventory: how much every hypervisor has and who uses it.

    Its API answers at port 8778.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("placement")
class PlacementSettings(toggles.ServiceSettings):
    """Inventory of what hypervisors have and who uses it."""
