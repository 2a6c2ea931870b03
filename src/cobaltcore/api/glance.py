"""Glance: the image service."""

from typing import ClassVar, Literal

from cobaltcore.api import toggles
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
    READY,
    Column,
    Name,
    Resource,
    Rule,
    Scale,
    Size,
    Struct,
    resource,
)
from cobaltcore.api.blocks import (
    Database,
    Image,
    KeystoneAuth,
    ServiceSpec,
    ServiceStatus,
    TokenCache,
)
from cobaltcore.api.pods import Replicas
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Kind

KIND = Kind("glance.openstack.c5c3.io", "v1alpha1", "Glance", "glances")


class FileStore(Struct):
    """Images on a volume."""

    size: Size = "10Gi"
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
    """Desired state of Glance."""

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
    """Number of API pods."""
    image: Image
    """Container image of Glance."""
    database: Database
    """Database of Glance: image metadata."""
    keystone: KeystoneAuth
    """How Glance authenticates with Keystone."""
    storage: GlanceStorage
    """Where image data is kept."""
    cache: TokenCache | None = None
    """Where validated tokens are cached. Unset: in each process."""


class GlanceStatus(ServiceStatus):
    """Observed state of Glance."""


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

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("glance")
class GlanceSettings(toggles.ServiceSettings):
    """Images to boot servers from."""
