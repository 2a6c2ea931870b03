"""Cinder: the block storage service."""

from typing import Annotated, ClassVar

from cobaltcore.api import toggles
from cobaltcore.api.barbican import KeyManager
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
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
    Database,
    Image,
    KeystoneAuth,
    Messaging,
    ServiceSpec,
    ServiceStatus,
    TokenCache,
)
from cobaltcore.api.options import Options
from cobaltcore.api.pods import Replicas, Workload
from cobaltcore.api.storage import Rbd
from cobaltcore.runtime.meta import Kind

KIND = Kind("cinder.openstack.c5c3.io", "v1alpha1", "Cinder", "cinders")
RBD_DRIVER = "cinder.volume.drivers.rbd.RBDDriver"
BackendName = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$")
]


class Backend(Struct):
    """Storage backend: a section of cinder.conf and a volume type."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"(self.driver == '{RBD_DRIVER}') == has(self.rbd)",
            f"rbd: required with the driver {RBD_DRIVER}, only",
            "rbd",
        ),
        Rule(
            "!(self.name in ['DEFAULT', 'backend_defaults', 'barbican', 'barbican_service_user', "
            "'coordination', 'database', 'key_manager', 'keystone_authtoken', 'nova', "
            "'oslo_concurrency', 'oslo_messaging_rabbit', 'oslo_policy', 'service_user'])",
            "name: is a section that cinder.conf has already, choose another",
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
    """The cinder-volume pods."""

    replicas: Replicas = 1
    """Number of pods. All of them serve the same backends."""


class CinderSpec(ServiceSpec):
    """Desired state of Cinder."""

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
    """The cinder-scheduler pods."""
    volume: VolumeWorkload = VolumeWorkload()
    """The cinder-volume pods."""
    image: Image
    """Container image of Cinder."""
    database: Database
    """Database of Cinder: volume metadata."""
    messaging: Messaging
    """Message broker of Cinder."""
    keystone: KeystoneAuth
    """How Cinder authenticates with Keystone."""
    cache: TokenCache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    backends: Annotated[list[Backend], Meta(max_length=32), list_map("name")] | None = None
    """Storage backends. A change restarts the cinder-volume pods."""
    default_volume_type: BackendName | None = None
    """Default volume type. Unset: the first backend's."""
    key_manager: KeyManager | None = None
    """Key manager for the keys of encrypted volumes. Unset: volumes of encrypted types cannot be
    created."""


class BackendStatus(Struct):
    """Observed state of a backend."""

    name: str
    """Name of the backend."""
    status: str | None = None
    """Ready, or the reason why not."""
    available_capacity_gb: int | None = None
    """Free space of a Ceph pool in GiB, measured every hour."""


class CinderStatus(ServiceStatus):
    """Observed state of Cinder."""

    backends: Annotated[list[BackendStatus], Meta(max_length=32), list_map("name")] = []
    """The backends and their free space."""


@resource(KIND, short_names=("cin",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Cinder(Resource[CinderSpec, CinderStatus]):
    """Cinder, the block storage service: volumes, snapshots and their attachments.

    Its API answers at port 8776.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


@toggles.block("cinder")
class CinderSettings(toggles.ServiceToggle):
    """Volumes."""

    api: toggles.WorkloadSettings | None = None
    """The block storage API."""
    scheduler: toggles.WorkloadSettings | None = None
    """The cinder-scheduler pods."""
    volume: toggles.WorkloadSettings | None = None
    """The cinder-volume pods."""
