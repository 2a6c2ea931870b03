"""Glance: the image service."""

from typing import ClassVar, Literal

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Name,
    Quantity,
    Resource,
    Rule,
    Scale,
    Struct,
    resource,
)
from cobaltcore.api.blocks import Cache, Database, Image, KeystoneAuth, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import Replicas
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Kind

KIND = Kind("glance.openstack.c5c3.io", "v1alpha1", "Glance", "glances")


class FileStore(Struct):
    """Images on a volume."""

    size: Quantity = "10Gi"
    """Size of the volume. May grow if the storage class allows it."""
    storage_class: Name | None = None
    """StorageClass of the volume; with several replicas it must be shared between nodes.
    Unset: the cluster's default."""


class GlanceStorage(Struct):
    """Where image data is kept."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.backend == 'rbd') == has(self.rbd)",
            "rbd: required with backend rbd, only",
            "rbd",
        ),
        Rule(
            "self.backend == 'file' || !has(self.file)",
            "file: only allowed with backend file",
            "file",
        ),
    )

    backend: Literal["rbd", "file"]
    """rbd keeps images in Ceph, file on a volume of the cluster. Images are not moved when it
    changes."""
    rbd: Rbd | None = None
    """The Ceph pool, with backend rbd."""
    file: FileStore | None = None
    """The volume, with backend file."""


class GlanceSpec(ServiceSpec):
    """The Glance that should run."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.storage.backend == oldSelf.storage.backend",
            "storage.backend is immutable: the images would stay behind",
            "storage",
        ),
        Rule(
            "!has(self.storage.rbd) || !has(oldSelf.storage.rbd) || "
            "self.storage.rbd.pool == oldSelf.storage.rbd.pool",
            "storage.rbd.pool is immutable: the images would stay behind",
            "storage",
        ),
    )

    replicas: Replicas = 2
    """How many API pods run."""
    image: Image
    """Container image of Glance."""
    database: Database
    """Where Glance keeps its data about images."""
    keystone: KeystoneAuth
    """How Glance logs in to Keystone."""
    storage: GlanceStorage
    """Where image data is kept."""
    cache: Cache | None = None
    """Where validated tokens are cached. Unset: in each process."""


class GlanceStatus(ServiceStatus):
    """The Glance that runs."""


@resource(
    KIND,
    short_names=("gln",),
    columns=(READY, Column("Endpoint", ".status.endpoint"), AGE),
    scale=Scale(),
)
class Glance(Resource[GlanceSpec, GlanceStatus]):
    """Glance, the image service: disk images to boot servers from.

    Its API answers at port 9292.
    """
