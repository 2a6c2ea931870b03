"""cortex.c5c3.io Pipeline, Decision and Descheduling: where things go, and why."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from cobaltcore.api.base import (
    AGE,
    READY,
    Column,
    Immutable,
    Meta,
    Name,
    Resource,
    Rule,
    Struct,
    list_map,
    resource,
)
from cobaltcore.api.blocks import Conditions
from cobaltcore.api.cortex import StepName, Weight
from cobaltcore.api.cortex_data import Description, HostName, ObjectName, SchedulingDomain, Text
from cobaltcore.api.hypervisor import Uuid
from cobaltcore.runtime.meta import Kind

PIPELINE = Kind("cortex.c5c3.io", "v1alpha1", "Pipeline", "pipelines", namespaced=False)
DECISION = Kind("cortex.c5c3.io", "v1alpha1", "Decision", "decisions", namespaced=False)
DESCHEDULING = Kind(
    "cortex.c5c3.io", "v1alpha1", "Descheduling", "deschedulings", namespaced=False
)


class Parameter(Struct):
    """One setting of a step; the value has exactly one type."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.stringValue), has(self.boolValue), has(self.intValue), "
            "has(self.floatValue), has(self.stringListValue), has(self.floatMapValue)]"
            ".filter(isSet, isSet).size() == 1",
            "params: set exactly one of stringValue, boolValue, intValue, floatValue, "
            "stringListValue and floatMapValue in every item",
        ),
    )

    key: Annotated[str, Meta(min_length=1, max_length=128)]
    """Name of the setting."""
    string_value: Annotated[str, Meta(max_length=4096)] | None = None
    """A text."""
    bool_value: bool | None = None
    """Yes or no."""
    int_value: int | None = None
    """A whole number."""
    float_value: float | None = None
    """A number."""
    string_list_value: Annotated[list[Text], Meta(max_length=256)] | None = None
    """A list of texts."""
    float_map_value: Annotated[dict[str, float], Meta(max_length=64)] | None = None
    """Numbers by name, for example memory: 1.0."""


class Step(Struct):
    """One step of a pipeline."""

    name: StepName
    """Name of the step as Cortex knows it, for example filter_correct_az."""
    description: Description | None = None
    """Description for people."""
    params: Annotated[list[Parameter], Meta(max_length=32), list_map("key")] = []
    """Settings of the step."""


class WeighingStep(Step):
    """A step that ranks hosts."""

    multiplier: Weight = 1.0
    """How much the step counts, from -1000 to 1000. A negative value turns it around."""


Steps = Annotated[list[Step], Meta(max_length=64), list_map("name")]


class PipelineSpec(Struct):
    """The steps from a list of hosts to a decision."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type == 'filter-weigher' || !has(self.filters)",
            "filters: only allowed when type is filter-weigher",
            "filters",
        ),
        Rule(
            "self.type == 'filter-weigher' || !has(self.weighers)",
            "weighers: only allowed when type is filter-weigher",
            "weighers",
        ),
        Rule(
            "self.type == 'detector' ? has(self.detectors) && size(self.detectors) > 0 "
            ": !has(self.detectors)",
            "detectors: at least one when type is detector, and not allowed otherwise",
            "detectors",
        ),
    )

    type: Annotated[Literal["filter-weigher", "detector"], Immutable]
    """filter-weigher chooses a host for something new, detector finds what should move."""
    scheduling_domain: Annotated[SchedulingDomain, Immutable]
    """Service whose hosts are looked at."""
    description: Description | None = None
    """What the pipeline is for, for people."""
    create_decisions: bool = False
    """Keep every run as a Decision object."""
    ignore_preselection: bool = False
    """Look at all hosts instead of those that the service asks about."""
    filters: Steps | None = None
    """Steps that remove hosts, in this order. With type filter-weigher."""
    weighers: Annotated[list[WeighingStep], Meta(max_length=64), list_map("name")] | None = None
    """Steps that rank the hosts that are left. With type filter-weigher."""
    detectors: Steps | None = None
    """Steps that find what should move. With type detector."""


class PipelineStatus(Struct):
    """Whether the pipeline can run."""

    conditions: Conditions = []
    """Conditions of the pipeline: AllStepsIndexed, AllStepsReady. Ready is True when it can
    run."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""


@resource(
    PIPELINE,
    short_names=("pipe",),
    columns=(
        Column("Type", ".spec.type"),
        Column("Domain", ".spec.schedulingDomain"),
        Column("Steps Known", '.status.conditions[?(@.type=="AllStepsIndexed")].status'),
        Column("Steps Ready", '.status.conditions[?(@.type=="AllStepsReady")].status'),
        READY,
        AGE,
    ),
)
class Pipeline(Resource[PipelineSpec, PipelineStatus]):
    """Filters and weighers that choose a host, or detectors that find what should move."""


class NamespacedName(Struct):
    """An object in any namespace."""

    name: Name
    """Name of the object."""
    namespace: Name
    """Namespace of the object."""


class DecisionSpec(Struct):
    """What needs a host, and who is to choose it."""

    __rules__: ClassVar[tuple[Rule, ...]] = tuple(
        Rule(
            f"has(self.{field}) == (self.schedulingDomain == '{domain}')",
            f"{field}: required when schedulingDomain is {domain} and not allowed otherwise",
            field,
        )
        for domain, field in (
            ("nova", "novaRaw"),
            ("cinder", "cinderRaw"),
            ("manila", "manilaRaw"),
            ("machines", "machineRef"),
            ("pods", "podRef"),
        )
    )

    scheduling_domain: Annotated[SchedulingDomain, Immutable]
    """Service that asks."""
    pipeline_ref: Annotated[ObjectName, Immutable]
    """The Pipeline that answers."""
    resource_id: Annotated[HostName, Immutable] = msgspec.field(name="resourceID")
    """Id of what needs a host, for example of a server."""
    intent: Annotated[Text, Immutable] | None = None
    """Why a host is needed: create, resize, live_migration, evacuate and so on."""
    nova_raw: dict[str, Any] | None = None
    """Nova's request as it came, with schedulingDomain nova."""
    cinder_raw: dict[str, Any] | None = None
    """Cinder's request as it came, with schedulingDomain cinder."""
    manila_raw: dict[str, Any] | None = None
    """Manila's request as it came, with schedulingDomain manila."""
    machine_ref: NamespacedName | None = None
    """The machine, with schedulingDomain machines."""
    pod_ref: NamespacedName | None = None
    """The Pod, with schedulingDomain pods."""


class StepResult(Struct):
    """What one step did."""

    step_name: str
    """Name of the step."""
    activations: dict[str, float]
    """Its score of every host that it left."""


class DecisionResult(Struct):
    """The answer and how it came about."""

    raw_in_weights: dict[str, float] = {}
    """Weight of every host in the request."""
    normalized_in_weights: dict[str, float] = {}
    """The same, brought to between -1 and 1."""
    step_results: Annotated[list[StepResult], list_map("stepName")] = []
    """What every step did, in their order."""
    aggregated_out_weights: dict[str, float] = {}
    """Weight of every host at the end."""
    ordered_hosts: list[str] = []
    """Hosts, best first."""
    target_host: str | None = None
    """The best host. Unset: no host fits."""


class DecisionStatus(Struct):
    """The answer."""

    conditions: Conditions = []
    """Conditions of the decision. Ready is True when there is an answer."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    result: DecisionResult | None = None
    """The answer and how it came about."""
    history: Annotated[list[ObjectName], list_map("name")] = []
    """Earlier decisions about the same thing, oldest first."""
    precedence: int | None = None
    """How many decisions about the same thing there were before."""
    explanation: str | None = None
    """Why this host, for people."""


@resource(
    DECISION,
    short_names=("dec",),
    columns=(
        Column("Domain", ".spec.schedulingDomain"),
        Column("Resource ID", ".spec.resourceID"),
        Column("Pipeline", ".spec.pipelineRef.name"),
        Column("Target Host", ".status.result.targetHost"),
        READY,
        Column("#", ".status.precedence", "integer", priority=1),
        AGE,
    ),
)
class Decision(Resource[DecisionSpec, DecisionStatus]):
    """One run of a pipeline: which host something got, and why."""


class DeschedulingSpec(Struct):
    """What should move away from where."""

    ref: Annotated[Uuid, Immutable]
    """UUID of the server."""
    ref_type: Literal["novaServerUUID"] = "novaServerUUID"
    """What ref is."""
    prev_host: Annotated[HostName, Immutable]
    """Host that the server should leave. Nothing happens if it is not there any more."""
    prev_host_type: Literal["novaComputeHostName"] = "novaComputeHostName"
    """What prevHost is."""
    reason: Annotated[str, Meta(min_length=1, max_length=1024)]
    """Why the server should move, for people."""


class DeschedulingStatus(Struct):
    """How far the move is."""

    conditions: Conditions = []
    """Conditions of the move: InProgress while the server moves, Ready when it has."""
    observed_generation: int | None = None
    """Generation of the spec that this status describes."""
    new_host: str | None = None
    """Host that the server moved to."""
    new_host_type: str | None = None
    """What newHost is."""


@resource(
    DESCHEDULING,
    short_names=("desched",),
    columns=(
        Column("Server", ".spec.ref"),
        Column("From", ".spec.prevHost"),
        Column("To", ".status.newHost"),
        Column("Reason", ".spec.reason"),
        READY,
        AGE,
    ),
)
class Descheduling(Resource[DeschedulingSpec, DeschedulingStatus]):
    """An order to move one server away from its host, for example because the host is full."""
