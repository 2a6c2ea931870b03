"""hypervisor.c5c3.io Eviction (v1) and Migration (v1alpha1): evacuation and live migration of servers."""

from typing import Annotated

from cobaltcore.api.base import (
    AGE,
    Column,
    Immutable,
    Meta,
    Name,
    Resource,
    Struct,
    Timestamp,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.runtime.meta import Kind

EVICTION = Kind("hypervisor.c5c3.io", "v1", "Eviction", "evictions", namespaced=False)
MIGRATION = Kind("hypervisor.c5c3.io", "v1alpha1", "Migration", "migrations")


class EvictionSpec(Struct):
    """Hypervisor to evict, and the reason."""

    hypervisor: Annotated[Name, Immutable]
    """Name of the Hypervisor. All of its servers are moved elsewhere, one after the other."""
    reason: Annotated[str, Meta(min_length=1, max_length=1024)]
    """Reason of the eviction, for people."""


class EvictionStatus(Struct):
    """Progress of the eviction."""

    conditions: Conditions = []
    """Conditions of the eviction: PreflightChecksSucceeded, HypervisorDisabled, MigratingInstance,
    HypervisorReEnabled. Evicting is True while servers are being moved and False at the end;
    its reason is the result."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    hypervisor_service_id: str | None = None
    """Id of the compute service in Nova."""
    outstanding_instances: list[str] = []
    """UUIDs of the servers that are still on the node. The last one is moved next."""
    outstanding_ram_mb: int | None = None
    """Memory of those servers in MiB."""


@resource(
    EVICTION,
    short_names=("evi",),
    columns=(
        Column("Hypervisor", ".spec.hypervisor"),
        Column("Reason", ".spec.reason"),
        Column("Evicting", '.status.conditions[?(@.type=="Evicting")].status'),
        Column("State", '.status.conditions[?(@.type=="Evicting")].reason'),
        Column("RAM (MiB)", ".status.outstandingRamMb", "integer"),
        AGE,
    ),
)
class Eviction(Resource[EvictionSpec, EvictionStatus]):
    """An order to move all servers away from a hypervisor.

    Deleting it stops before the next server; what has been moved stays where it is.
    """


class MigrationSpec(Struct):
    """Nothing can be asked for: the agent only reports."""


class MigrationStatus(Struct):
    """Progress of the migration. Sizes and times are texts for people."""

    conditions: Conditions = []
    """Conditions of the migration."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    origin: str | None = None
    """Node that the server leaves."""
    destination: str | None = None
    """Node that the server moves to."""
    type: str | None = None
    """What libvirt calls the job: live while it runs, then completed, failed or cancelled."""
    operation: str | None = None
    """Direction as seen from the reporting node: migration_in or migration_out."""
    started: Timestamp | None = None
    """When the first memory pages were sent."""
    time_elapsed: str | None = None
    """Time since the start, for example 2.755s."""
    time_remaining: str | None = None
    """Time until the end, as libvirt estimates it."""
    setup_time: str | None = None
    """Time that it took to get ready."""
    downtime: str | None = None
    """Downtime of the server during the switch-over."""
    data_total: str | None = None
    """All that has to be sent, for example 4.0 GiB."""
    data_processed: str | None = None
    """What has been sent."""
    data_remaining: str | None = None
    """What is left to send."""
    mem_total: str | None = None
    """Memory that has to be sent."""
    mem_processed: str | None = None
    """Memory that has been sent."""
    mem_remaining: str | None = None
    """Memory that is left to send."""
    mem_bps: str | None = None
    """Rate at which memory is sent, for example 16.5 MiB/s."""
    mem_dirty_rate: str | None = None
    """Rate at which the server changes its memory, in pages per second."""
    mem_iteration: Annotated[int, Meta(ge=0)] | None = None
    """How many times changed memory was sent again."""
    mem_page_size: str | None = None
    """Size of a memory page."""
    mem_normal: Annotated[int, Meta(ge=0)] | None = None
    """Pages that were sent as they are."""
    mem_normal_bytes: str | None = None
    """Size of the pages that were sent as they are."""
    mem_constant: Annotated[int, Meta(ge=0)] | None = None
    """Pages of one repeated byte, which are sent as that byte."""
    mem_postcopy_requests: Annotated[int, Meta(ge=0)] | None = None
    """Pages that the destination had to ask for."""
    disk_total: str | None = None
    """Local disk that has to be sent."""
    disk_processed: str | None = None
    """Local disk that has been sent."""
    disk_remaining: str | None = None
    """Local disk that is left to send."""
    disk_bps: str | None = None
    """Rate at which local disk is sent."""
    auto_converge_throttle: str | None = None
    """Share by which the server is slowed down so that the migration can end, for example 20%."""
    err_msg: str | None = None
    """Why the migration failed, if it did."""


@resource(
    MIGRATION,
    short_names=("mig",),
    columns=(
        Column("Origin", ".status.origin"),
        Column("Destination", ".status.destination"),
        Column("Type", ".status.type"),
        Column("Operation", ".status.operation"),
        Column("Elapsed", ".status.timeElapsed"),
        Column("Total", ".status.dataTotal"),
        Column("Remaining", ".status.dataRemaining"),
        Column("Dirty Rate", ".status.memDirtyRate", priority=1),
        Column("Iteration", ".status.memIteration", "integer", priority=1),
        AGE,
    ),
)
class Migration(Resource[MigrationSpec, MigrationStatus]):
    """A server that moves from one node to another, reported by the agents on both.

    The object has the UUID of the server as its name.
    """
