"""Nova: the compute service."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api import toggles
from cobaltcore.api.barbican import KeyManager
from cobaltcore.api.base import (
    AGE,
    NAME_FITS,
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
    Ref,
    SecretKeyRef,
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
    """External scheduler that makes the final choice of the host."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("!self.enabled || has(self.endpoint)", "endpoint: required when enabled", "endpoint"),
    )

    enabled: bool = False
    """Ask the external scheduler after Nova's own filters and weighers."""
    endpoint: Url | None = None
    """Address of the external scheduler, for example Cortex."""


class Scheduler(Workload):
    """The nova-scheduler pods."""

    external_scheduler: ExternalScheduler | None = None
    """External scheduler, for example Cortex. Unset: none."""


class Metadata(Workload):
    """The metadata API pods."""

    shared_secret_ref: SecretKeyRef | None = None
    """Secret that Nova shares with Neutron's metadata agents, key metadata_proxy_shared_secret
    unless named. Unset: the Secret NAME-metadata-proxy is created."""


class Console(Workload):
    """Graphical consoles of servers in browsers: proxies with noVNC, at port 6080."""

    enabled: bool = True
    """Give servers a display and run the proxies. Servers that exist get or lose it when they are
    rebooted hard."""
    public_endpoint: Url | None = None
    """URL at which browsers reach the proxies of the first cell. Unset: the URL inside the
    cluster, as for every other cell."""


class ServiceAuth(Struct):
    """Users with which Nova calls other services."""

    placement_service_user_ref: Ref | None = None
    """User for Placement; its credential is in the Secret NAME-keystone-credentials. Unset: Nova's
    own."""
    neutron_service_user_ref: Ref | None = None
    """User for Neutron, in the same way. Unset: Nova's own."""
    glance_service_user_ref: Ref | None = None
    """User for Glance, in the same way: Nova sends the tokens of its users to Glance, together
    with a service token of this user. Unset: Nova's own."""
    cinder_service_user_ref: Ref | None = None
    """User for Cinder, in the same way. Unset: Nova's own."""


class Cell(Struct):
    """Cell: hypervisors with a database and message queues of their own."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(self.name in ['api', 'cell0'])",
            "name: cell0 always exists and nova_api is the database that all cells share, choose "
            "another name than api and cell0",
            "name",
        ),
    )

    name: Annotated[
        str,
        Meta(min_length=1, max_length=32, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$"),
    ]
    """Name of the cell. cell0 always exists and is not listed."""
    compute_ref: Ref | None = None
    """Cluster of the cell's hypervisors. In this release they are nodes of this cluster: the
    condition CellsReady names a reference that is not followed. With several cells it is refused;
    label the nodes of all cells but the first with nova.c5c3.io/cell."""
    database: DatabaseName | None = None
    """Database of the cell. Unset: database.database for the first cell, nova_NAME for others."""
    enabled: bool = True
    """Start new servers in the cell. false restarts the scheduler; servers that exist run on."""


OWN_DATABASES = "cells: every cell needs a database of its own, which nothing else uses"


def _database_of(cell: str, first: str) -> str:
    """CEL: the database of a cell, `first` that of the first one without a name of its own."""
    return (
        f"(has({cell}.database) ? {cell}.database : {cell}.name == self.cells[0].name ? {first}"
        f" : 'nova_' + {cell}.name.replace('-', '_'))"
    )


def _own_databases(first: str) -> str:
    return (
        "self.cells.all(a, self.cells.exists_one(b, "
        f"{_database_of('a', first)} == {_database_of('b', first)}))"
    )


CELLS_OF_ONE_CLUSTER = Rule(
    "!has(self.cells) || self.cells.size() == 1 || self.cells.all(cell, !has(cell.computeRef))",
    "cells: computeRef cannot be set with several cells, because this release runs hypervisors "
    "in this cluster only; label the nodes of each cell nova.c5c3.io/cell=NAME",
    "cells",
)


class EphemeralStorage(Struct):
    """Ephemeral disks of servers."""

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
    secret_ref: SecretKeyRef
    """Secret with the user's key. Unset key: the user's name, keyring, userKey or key, whichever
    exists."""


class Compute(PodSettings):
    """nova-compute on the hypervisor nodes.

    Unset nodeSelector: nodes that are labelled node-role.kubernetes.io/hypervisor.
    """

    virtualization: Literal["auto", "kvm", "qemu"] = "auto"
    """Virtualization type: kvm needs hardware support, qemu emulates, auto tries kvm on each node."""
    libvirt_image: Image | None = None
    """Container image of libvirt and QEMU. Unset: that of the release, from where Nova's comes."""
    volume_keys: Annotated[list[VolumeKey], Meta(max_length=16), list_map("user")] | None = None
    """Ceph users whose volumes servers attach; their keys become secrets of libvirt on each node.
    Unset: those of the backends of the Cinder named cinder in the same namespace."""


class NovaSpec(ServiceSpec):
    """Desired state of Nova."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.cells.all(cell, !(" + _database_of("cell", "self.database.database") + " in "
            "[self.database.apiDatabase, self.database.cellDatabase]))",
            "cells: a cell cannot use the API database or that of cell0",
            "cells",
        ),
        Rule(
            "self.cells[0].name == oldSelf.cells[0].name",
            "cells: the first cell cannot be another one, it has Nova's own database",
            "cells",
        ),
        Rule(
            _own_databases("self.database.database"),
            OWN_DATABASES,
            "cells",
        ),
        CELLS_OF_ONE_CLUSTER,
    )

    api: Workload = Workload()
    """The compute API, at port 8774."""
    scheduler: Scheduler = Scheduler()
    """The nova-scheduler pods."""
    conductor: Workload = Workload()
    """The nova-conductor pods."""
    metadata: Metadata = Metadata()
    """The metadata API, at port 8775."""
    console: Console = Console()
    """Graphical consoles of servers in browsers."""
    compute: Compute = Compute()
    """nova-compute on the hypervisor nodes. Unset nodeSelector: nodes that are labelled
    node-role.kubernetes.io/hypervisor."""
    image: Image
    """Container image of Nova."""
    database: NovaDatabase
    """Database of Nova."""
    messaging: Messaging
    """Message broker of Nova."""
    keystone: KeystoneAuth
    """How Nova authenticates with Keystone."""
    cache: Cache | None = None
    """Where validated tokens are cached. Unset: in each process."""
    service_auth: ServiceAuth | None = None
    """Users with which Nova calls other services. Unset: its own."""
    key_manager: KeyManager | None = None
    """Key manager with the keys of encrypted volumes. Unset: servers cannot attach them. A change
    restarts all pods, nova-compute included."""
    cells: Annotated[list[Cell], Meta(min_length=1, max_length=32), list_map("name")] = (
        msgspec.field(default_factory=lambda: [Cell(name="cell1")])
    )
    """Cells besides cell0. A cell with servers cannot be removed."""
    storage: EphemeralStorage = EphemeralStorage()
    """Ephemeral disks of servers."""


class CellStatus(Struct):
    """Observed state of a cell."""

    name: str
    """Name of the cell."""
    status: str | None = None
    """Ready, or what is missing: ConductorNotReady, NoHypervisors, HypervisorsNotReady. Disabled
    if it is ready and gets no new servers."""
    compute_nodes: int | None = None
    """Hypervisors in the cell."""


class NovaStatus(ServiceStatus):
    """Observed state of Nova."""

    cells: Annotated[list[CellStatus], Meta(max_length=33), list_map("name")] = []
    """The cells and their hypervisors."""


@resource(KIND, short_names=("nov",), columns=(READY, Column("Endpoint", ".status.endpoint"), AGE))
class Nova(Resource[NovaSpec, NovaStatus]):
    """Nova, the compute service: servers and the hypervisors that they run on.

    Its API answers at port 8774.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (NAME_FITS,)


class ConsoleSettings(toggles.WorkloadSettings):
    """Graphical consoles of servers in browsers."""

    enabled: bool = True
    """Give servers a display and run the proxies."""
    public_endpoint: Url | None = None
    """URL at which browsers reach the proxies. Unset: the URL inside the cluster."""


@toggles.block("nova", needs=("placement", "glance", "neutron"))
class NovaSettings(toggles.ServiceToggle):
    """Servers and hypervisors."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        CELLS_OF_ONE_CLUSTER,
        Rule(
            "!has(self.cells) || " + _own_databases("'nova'"),
            OWN_DATABASES,
            "cells",
        ),
    )

    api: toggles.WorkloadSettings | None = None
    """The compute API."""
    scheduler: toggles.WorkloadSettings | None = None
    """The nova-scheduler pods."""
    conductor: toggles.WorkloadSettings | None = None
    """The nova-conductor pods."""
    metadata: toggles.WorkloadSettings | None = None
    """The metadata API."""
    console: ConsoleSettings | None = None
    """Graphical consoles of servers in browsers. Unset: on."""
    compute: Compute | None = None
    """nova-compute on the hypervisor nodes."""
    cells: Annotated[list[Cell], Meta(min_length=1, max_length=32), list_map("name")] | None = None
    """Cells besides cell0. Unset: one, cell1."""
