"""Nova: the compute service."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Immutable,
    Meta,
    Resource,
    Rule,
    Struct,
    Url,
    list_map,
    resource,
)
from cobaltcore.api.blocks import (
    Cache,
    Database,
    DatabaseName,
    Image,
    KeystoneAuth,
    Messaging,
    NamespacedRef,
    Ref,
    SecretRef,
    ServiceSpec,
    ServiceStatus,
)
from cobaltcore.api.pods import PodSettings, Workload
from cobaltcore.api.storage import CephUser, Rbd
from cobaltcore.runtime.meta import Kind

KIND = Kind("nova.openstack.c5c3.io", "v1alpha1", "Nova", "novas")


class NovaDatabase(Database):
    """Nova's three databases, on one server with one user."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.database != self.apiDatabase && self.database != self.cellDatabase"
            " && self.apiDatabase != self.cellDatabase",
            "database, apiDatabase and cellDatabase: must be three different databases",
        ),
    )

    api_database: Annotated[DatabaseName, Immutable] = "nova_api"
    """Database of what all cells share: flavors, cells, requests. Cannot change."""
    cell_database: Annotated[DatabaseName, Immutable] = "nova_cell0"
    """Database of cell0, which holds servers that found no host. Cannot change."""


class ExternalScheduler(Struct):
    """A service that has the last word on where a server runs."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("!self.enabled || has(self.endpoint)", "endpoint: required when enabled", "endpoint"),
    )

    enabled: bool = False
    """Ask the external scheduler after Nova's own filters and weighers."""
    endpoint: Url | None = None
    """Address of the external scheduler, for example Cortex."""


class Scheduler(Workload):
    """The pods that choose a host for each server."""

    external_scheduler: ExternalScheduler | None = None
    """A second opinion, for example from Cortex. Unset: none."""


class Metadata(Workload):
    """The pods that tell servers about themselves."""

    shared_secret_ref: SecretRef | None = None
    """Secret with the key metadata_proxy_shared_secret that Neutron's metadata agents prove
    themselves with. Unset: one is made."""


class ServiceAuth(Struct):
    """Users with which Nova calls other services."""

    placement_service_user_ref: Ref | None = None
    """User for Placement; its credential is in the Secret NAME-keystone-credentials. Unset: Nova's
    own."""
    neutron_service_user_ref: Ref | None = None
    """User for Neutron, in the same way. Unset: Nova's own."""
    glance_service_user_ref: Ref | None = None
    """User for Glance. Without effect so far: Nova calls Glance in the name of its users."""
    cinder_service_user_ref: Ref | None = None
    """User for Cinder, in the same way. Unset: Nova's own."""


class Cell(Struct):
    """A share of the hypervisors with a database of its own."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self.name != 'cell0'", "name: cell0 is made by itself, choose another name", "name"),
    )

    name: Annotated[
        str,
        Meta(min_length=1, max_length=32, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$"),
    ]
    """Name of the cell. cell0 is made without being asked for."""
    compute_ref: NamespacedRef | None = None
    """The hypervisor cluster whose nodes belong to the cell. Unset: this cluster."""
    database: DatabaseName | None = None
    """Database of the cell. Unset: database.database for the first cell, nova_NAME for others."""


class EphemeralStorage(Struct):
    """Where disks of servers without a volume are kept."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.backend == 'rbd') == has(self.rbd)",
            "rbd: required with backend rbd, only",
            "rbd",
        ),
    )

    backend: Literal["local", "rbd"] = "local"
    """local keeps disks on the hypervisor, rbd in Ceph, where live migration needs no copy."""
    rbd: Rbd | None = None
    """The Ceph pool, with backend rbd."""


class VolumeKey(Struct):
    """A Ceph user whose volumes servers attach."""

    user: CephUser
    """Ceph user without the client. prefix."""
    secret_ref: SecretRef
    """Secret with the user's key. Keys: the user's name (or keyring)."""


class Compute(PodSettings):
    """nova-compute on the hypervisor nodes.

    Unset nodeSelector: nodes that are labelled node-role.kubernetes.io/hypervisor.
    """

    virtualization: Literal["auto", "kvm", "qemu"] = "auto"
    """How servers run: kvm needs hardware support, qemu emulates, auto tries kvm on each node."""
    libvirt_image: Image | None = None
    """Container image of libvirt and QEMU. Unset: that of the release, from where Nova's comes."""
    volume_keys: Annotated[list[VolumeKey], Meta(max_length=16), list_map("user")] | None = None
    """Ceph users whose volumes servers attach; their keys are made known to libvirt on each node.
    Unset: those of the backends of the Cinder named cinder in the same namespace."""


class NovaSpec(ServiceSpec):
    """The Nova that should run."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.cells.all(cell, !has(cell.database) || (cell.database != "
            "self.database.apiDatabase && cell.database != self.database.cellDatabase))",
            "cells: a cell cannot use the API database or that of cell0",
            "cells",
        ),
        Rule(
            "self.cells[0].name == oldSelf.cells[0].name",
            "cells: the first cell cannot be another one, it has Nova's own database",
            "cells",
        ),
        Rule(
            "self.cells.all(a, !has(a.database) || self.cells.exists_one(b, "
            "has(b.database) && b.database == a.database))",
            "cells: every cell needs a database of its own",
            "cells",
        ),
    )

    api: Workload = Workload()
    """The compute API, at port 8774."""
    scheduler: Scheduler = Scheduler()
    """The pods that choose a host for each server."""
    conductor: Workload = Workload()
    """The pods that write to the databases for the hypervisors."""
    metadata: Metadata = Metadata()
    """The metadata API, at port 8775."""
    compute: Compute = Compute()
    """nova-compute on the hypervisor nodes. Unset nodeSelector: nodes that are labelled
    node-role.kubernetes.io/hypervisor."""
    image: Image
    """Container image of Nova."""
    database: NovaDatabase
    """Where Nova keeps its data."""
    messaging: Messaging
    """How the parts of Nova talk to each other."""
    keystone: KeystoneAuth
    """How Nova logs in to Keystone."""
    cache: Cache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    service_auth: ServiceAuth | None = None
    """Users with which Nova calls other services. Unset: its own."""
    cells: Annotated[list[Cell], Meta(min_length=1, max_length=32), list_map("name")] = (
        msgspec.field(default_factory=lambda: [Cell(name="cell1")])
    )
    """Shares of the hypervisors. A cell with servers cannot be removed."""
    storage: EphemeralStorage = EphemeralStorage()
    """Where disks of servers without a volume are kept."""


class CellStatus(Struct):
    """A cell as it is."""

    name: str
    """Name of the cell."""
    status: str | None = None
    """Ready, or the reason why not."""
    compute_nodes: int | None = None
    """Hypervisors in the cell."""


class NovaStatus(ServiceStatus):
    """The Nova that runs."""

    cells: Annotated[list[CellStatus], Meta(max_length=33), list_map("name")] = []
    """The cells and their hypervisors."""


@resource(KIND, short_names=("nov",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Nova(Resource[NovaSpec, NovaStatus]):
    """Nova, the compute service: servers and the hypervisors that they run on.

    Its API answers at port 8774.
    """
