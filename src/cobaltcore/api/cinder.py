"""Cinder: the block storage service."""

from typing import Annotated, ClassVar

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Meta,
    Resource,
    Rule,
    Struct,
    list_map,
    resource,
)
from cobaltcore.api.blocks import (
    Cache,
    Database,
    Image,
    KeystoneAuth,
    Messaging,
    Options,
    ServiceSpec,
    ServiceStatus,
)
from cobaltcore.api.pods import Replicas, Workload
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Kind

KIND = Kind("cinder.openstack.c5c3.io", "v1alpha1", "Cinder", "cinders")
RBD_DRIVER = "cinder.volume.drivers.rbd.RBDDriver"
BackendName = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$")
]


class Backend(Struct):
    """A place where volumes are kept. It becomes a section of cinder.conf and a volume type."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"(self.driver == '{RBD_DRIVER}') == has(self.rbd)",
            f"rbd: required with the driver {RBD_DRIVER}, only",
            "rbd",
        ),
        Rule(
            "!(self.name in ['DEFAULT', 'backend_defaults', 'coordination', 'database', "
            "'key_manager', 'keystone_authtoken', 'nova', 'oslo_concurrency', "
            "'oslo_messaging_rabbit', 'oslo_policy', 'service_user'])",
            "name: is a section of cinder.conf with a meaning of its own, choose another",
            "name",
        ),
        Rule(
            "!has(self.rbd) || !has(oldSelf.rbd) || self.rbd.pool == oldSelf.rbd.pool",
            "rbd.pool is immutable: the volumes would stay behind",
            "rbd",
        ),
        Rule(
            "!has(self.config) || !('volume_driver' in self.config || "
            "'volume_backend_name' in self.config)",
            "config: volume_driver and volume_backend_name follow from driver and name",
            "config",
        ),
    )

    name: BackendName
    """Name of the backend, of its section and of its volume type. Unique."""
    driver: Annotated[
        str, Meta(max_length=255, pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$")
    ] = RBD_DRIVER
    """Python class of the driver."""
    rbd: Rbd | None = None
    """The Ceph pool, with the RBD driver."""
    config: Options = {}
    """Further options of the section. Not for secrets."""


class VolumeWorkload(Workload):
    """The pods that talk to the backends."""

    replicas: Replicas = 1
    """How many pods run. All of them serve the same backends."""


class CinderSpec(ServiceSpec):
    """The Cinder that should run."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.defaultVolumeType) || (has(self.backends) && "
            "self.backends.exists(backend, backend.name == self.defaultVolumeType))",
            "defaultVolumeType: must be the name of one of the backends",
            "defaultVolumeType",
        ),
    )

    api: Workload = Workload()
    """The block storage API, at port 8776."""
    scheduler: Workload = Workload()
    """The pods that choose a backend for each volume."""
    volume: VolumeWorkload = VolumeWorkload()
    """The pods that talk to the backends."""
    image: Image
    """Container image of Cinder."""
    database: Database
    """Where Cinder keeps its data about volumes."""
    messaging: Messaging
    """How the parts of Cinder talk to each other."""
    keystone: KeystoneAuth
    """How Cinder logs in to Keystone."""
    cache: Cache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    backends: Annotated[list[Backend], Meta(max_length=32), list_map("name")] | None = None
    """Places where volumes are kept. A change restarts the volume pods."""
    default_volume_type: BackendName | None = None
    """Volume type that users get who do not ask for one. Unset: the first backend's."""


class BackendStatus(Struct):
    """A backend as it is."""

    name: str
    """Name of the backend."""
    status: str | None = None
    """Ready, or the reason why not."""
    available_capacity_gb: int | None = None
    """Free space in GB, as the backend reports it."""


class CinderStatus(ServiceStatus):
    """The Cinder that runs."""

    backends: Annotated[list[BackendStatus], Meta(max_length=32), list_map("name")] = []
    """The backends and their free space."""


@resource(KIND, short_names=("cin",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Cinder(Resource[CinderSpec, CinderStatus]):
    """Cinder, the block storage service: volumes, snapshots and their attachments.

    Its API answers at port 8776.
    """
