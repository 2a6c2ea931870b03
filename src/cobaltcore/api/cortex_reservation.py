"""cortex.c5c3.io Reservation: capacity that is reserved on a host."""

from typing import Annotated, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Immutable,
    Meta,
    Quantity,
    Resource,
    Rule,
    Struct,
    Timestamp,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.api.cortex_data import HostName, SchedulingDomain, Text
from cobaltcore.api.hypervisor import ProjectId, Uuid
from cobaltcore.runtime.meta import Kind

RESERVATION = Kind("cortex.c5c3.io", "v1alpha1", "Reservation", "reservations", namespaced=False)

Amounts = Annotated[dict[str, Quantity], Meta(min_length=1, max_length=16)]


class Allocation(Struct):
    """Room that a server uses up."""

    creation_timestamp: Timestamp
    """When the server came."""
    resources: Amounts
    """How much it uses, by resource name."""


class CommittedResourceReservation(Struct):
    """Room that a project has paid for."""

    project_id: ProjectId = msgspec.field(name="projectID")
    """Id of the project."""
    domain_id: ProjectId | None = msgspec.field(default=None, name="domainID")
    """Id of the project's domain."""
    commitment_uuid: Uuid | None = msgspec.field(default=None, name="commitmentUUID")
    """UUID of the commitment that the room belongs to."""
    resource_group: Text | None = None
    """Group of flavors that fit in."""
    resource_name: Text | None = None
    """Flavor that the room was cut for."""
    creator: Text | None = None
    """Component that asked for it."""
    parent_generation: Annotated[int, Meta(ge=0)] | None = None
    """Generation of the commitment that this follows."""
    allocations: Annotated[dict[str, Allocation], Meta(max_length=256)] | None = None
    """Servers that use the room, by their UUID."""


class FailoverReservation(Struct):
    """Room for servers whose host fails."""

    resource_group: Text | None = None
    """Group of flavors that fit in."""


class InFlightReservation(Struct):
    """Room for a server that is on its way."""

    vm_id: Uuid = msgspec.field(name="vmID")
    """UUID of the server."""
    project_id: ProjectId | None = msgspec.field(default=None, name="projectID")
    """Id of the server's project."""
    user_id: ProjectId | None = msgspec.field(default=None, name="userID")
    """Id of the user who asked for the server."""
    intent: Text | None = None
    """Why the server moves: create, resize, live_migration, evacuate and so on."""


class ReservationSpec(Struct):
    """How much room is kept free, where, when and for whom."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        *(
            Rule(
                f"has(self.{field}) == (self.type == '{kind}')",
                f"{field}: required when type is {kind} and not allowed otherwise",
                field,
            )
            for kind, field in (
                ("CommittedResourceReservation", "committedResourceReservation"),
                ("FailoverReservation", "failoverReservation"),
                ("InFlightReservation", "inFlightReservation"),
            )
        ),
        Rule(
            "!has(self.startTime) || !has(self.endTime) || self.startTime < self.endTime",
            "endTime: must be after startTime",
            "endTime",
        ),
    )

    type: Annotated[
        Literal["CommittedResourceReservation", "FailoverReservation", "InFlightReservation"],
        Immutable,
    ]
    """Whom the room is for. The field of the same name has the details."""
    scheduling_domain: SchedulingDomain = "nova"
    """Service whose hosts are meant."""
    resources: Amounts
    """How much is kept free, by resource name, for example memory: 64Gi and cpu: 8."""
    availability_zone: Text | None = None
    """Zone of the host. Unset: any."""
    target_host: HostName | None = None
    """Host that should keep the room. Unset: the scheduler chooses one."""
    start_time: Timestamp | None = None
    """From when on. Unset: at once."""
    end_time: Timestamp | None = None
    """Until when. Unset: until this object is deleted."""
    committed_resource_reservation: CommittedResourceReservation | None = None
    """Room that a project has paid for, with type CommittedResourceReservation."""
    failover_reservation: FailoverReservation | None = None
    """Room for servers whose host fails, with type FailoverReservation."""
    in_flight_reservation: InFlightReservation | None = None
    """Room for a server that is on its way, with type InFlightReservation."""


class CommittedResourceStatus(Struct):
    """Who uses the room that a project has paid for."""

    allocations: dict[str, str] = {}
    """Host of every server that uses the room, by the server's UUID."""
    observed_parent_generation: int | None = None
    """Generation of the commitment that this follows."""


class FailoverStatus(Struct):
    """Whose failure the room is for."""

    allocations: dict[str, str] = {}
    """Host of every server that may use the room, by the server's UUID."""
    last_changed: Timestamp | None = None
    """When a server was last added or removed."""
    acknowledged_at: Timestamp | None = None
    """When the scheduler last agreed that the servers fit."""


class ReservationStatus(Struct):
    """The room that is kept free."""

    conditions: Conditions = []
    """Conditions of the reservation. Ready is True while a host keeps the room."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    host: str | None = None
    """Host that keeps the room."""
    committed_resource_reservation: CommittedResourceStatus | None = None
    """Who uses the room, with type CommittedResourceReservation."""
    failover_reservation: FailoverStatus | None = None
    """Whose failure the room is for, with type FailoverReservation."""


@resource(
    RESERVATION,
    short_names=("resv",),
    columns=(
        Column("Type", ".spec.type"),
        Column("Host", ".status.host"),
        READY,
        Column("AZ", ".spec.availabilityZone"),
        Column("Start", ".spec.startTime", "date", priority=1),
        Column("End", ".spec.endTime", "date", priority=1),
        AGE,
    ),
)
class Reservation(Resource[ReservationSpec, ReservationStatus]):
    """Capacity that is kept free on a host: paid for, for failures, or for a server on its way."""
