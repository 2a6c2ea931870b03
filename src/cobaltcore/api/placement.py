"""Placement: inventory of resources and who uses them."""

from cobaltcore.api.base import AGE, READY, Column, Resource, Scale, resource
from cobaltcore.api.blocks import Database, Image, KeystoneAuth, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import Replicas
from cobaltcore.runtime.meta import Kind

KIND = Kind("placement.openstack.c5c3.io", "v1alpha1", "Placement", "placements")


class PlacementSpec(ServiceSpec):
    """The Placement that should run."""

    replicas: Replicas = 2
    """How many API pods run."""
    image: Image
    """Container image of Placement."""
    database: Database
    """Where Placement keeps its data."""
    keystone: KeystoneAuth
    """How Placement logs in to Keystone."""


class PlacementStatus(ServiceStatus):
    """The Placement that runs."""


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
