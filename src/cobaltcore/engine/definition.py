"""What an OpenStack service is written in. Pure: a definition is data and functions without I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from cobaltcore.api.base import Resource
from cobaltcore.api.blocks import Image, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import PodSettings, Resources
from cobaltcore.engine import releases
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.desired.volumes import Volume
from cobaltcore.engine.part import AnyPart
from cobaltcore.engine.plan import Removal
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import Verdict
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.openstack.versions import Range
from cobaltcore.runtime.meta import Desired, Key, Kind, WatchScope

SpecT = TypeVar("SpecT", bound=ServiceSpec)
SpecT_co = TypeVar("SpecT_co", bound=ServiceSpec, covariant=True)


@dataclass(frozen=True, kw_only=True)
class ServiceScope(Scope[SpecT_co, ServiceStatus], Generic[SpecT_co]):
    """What one reconcile of a service knows."""

    service: "Service[SpecT_co]"

    def labels(self, component: str = "") -> dict[str, str]:
        """Labels of a child."""
        return names.labels(self.service.name, self.name, component)

    def selector(self, component: str) -> dict[str, str]:
        """Labels by which pods of a component are found."""
        return names.selector(self.service.name, self.name, component)

    @cached_property
    def workloads(self) -> Sequence["Workload"]:
        """The sets of pods that should run."""
        return self.service.workloads(self)

    @property
    def image(self) -> Image:
        """The image that all its programs come from; unset: that of the newest release."""
        if self.spec.image is not None:
            return self.spec.image
        tag = releases.image_tag(self.service.name, releases.newest())
        return Image(repository=f"{releases.REGISTRY}/{self.service.name}", tag=tag)

    @property
    def keeps_data(self) -> bool:
        """Whether data outlives the object."""
        return self.spec.deletion_policy == "Retain"


AnyScope = ServiceScope[ServiceSpec]


@dataclass(frozen=True, slots=True)
class Config:
    """Files for a ConfigMap, and what must not be in one."""

    files: Mapping[str, str]
    secrets: Sections = field(default_factory=dict, repr=False)
    """Options with secret values."""
    secret_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """Directories with secret files: path to file name to text."""
    checks_rule: Callable[[str], bool] = lambda rule: True
    """Which access rules its programs check; pods do not restart for changes of others."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a step wants, and its verdict."""

    verdict: Verdict
    objects: Sequence[Desired] = ()
    removals: Sequence[Removal] = ()
    """Objects to delete so that they can be created again, for example a failed Job."""
    status: Mapping[str, object] = field(default_factory=dict)
    """Fields of the object's status that this step knows, by their names in Python."""


@dataclass(frozen=True, slots=True)
class Step(Generic[SpecT]):
    """One link of the chain, with a condition of its own."""

    condition: str
    run: Callable[[ServiceScope[SpecT]], Result]
    enabled_if: Callable[[ServiceScope[SpecT]], bool] = lambda scope: True
    needs: tuple[str, ...] | None = None
    """Conditions that come first; None: those of all steps before. Others run in parallel."""
    gates: bool = True
    """Whether workloads wait for it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A command that runs to completion once; other inputs are another run."""

    name: str
    command: tuple[str, ...]
    inputs: object = None
    readiness: tuple[str, ...] = ()
    """Command that succeeds while a sidecar works; none: it is ready once it runs."""
    volumes: Sequence[Volume] = ()
    """In place of the service's volumes of the same names."""
    before_keystone: bool = False
    """It needs databases and broker only, so it may run before there is a Keystone."""
    offline: bool = False
    """It reads the files of the configuration and calls no service."""
    refusal: str = ""
    """The first word of the message of a failure that no repetition changes: a person must act."""


@dataclass(frozen=True, slots=True)
class SecretNeed:
    """A Secret with certain keys; of a tuple of keys one is enough."""

    name: str
    keys: tuple[str | tuple[str, ...], ...]
    purpose: str
    encrypts_data: bool = False
    """Whether stored data cannot be read without it: it is then kept like the data."""


@dataclass(frozen=True, slots=True)
class DatabaseNeed:
    """A database of the service; `section` of oslo.config gets its DSN, if any."""

    name: str
    section: str = "database"


def main_database(spec: ServiceSpec) -> Sequence[DatabaseNeed]:
    """The database that the spec names, for services with no other."""
    return (DatabaseNeed(spec.database.database),) if spec.database else ()


@dataclass(frozen=True, slots=True)
class NodeAgent:
    """Makes a workload a DaemonSet: root, host network, one pod on every node.

    Without a nodeSelector of the user these are the nodes labelled as hypervisors.
    """

    node_environment: Mapping[str, str] = field(default_factory=dict)
    """What differs between nodes: variable to the field of the pod that it comes from."""
    init_containers: tuple[Task, ...] = ()
    sidecars: tuple[Task, ...] = ()
    host_pid: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that nodes must carry as well."""
    labels_if_any: Mapping[str, str] = field(default_factory=dict)
    """Labels that nodes must carry with this value or not at all."""


def asking(cpu: str, memory: str) -> Resources:
    """What a program needs as it was measured (docs/requests.md), and room for a peak of memory."""
    return Resources(requests={"cpu": cpu, "memory": memory}, limits={"memory": "1Gi"})


DEFAULT_RESOURCES = asking("50m", "128Mi")


@dataclass(frozen=True, slots=True)
class Workload:
    """A set of equal pods. `module` makes it an API under uWSGI, `command` a daemon."""

    component: str
    replicas: int = 1
    module: str = ""
    command: tuple[str, ...] = ()
    port: int = 0
    """Port of the API, if it is not the service's, or of a daemon."""
    condition: str = "DeploymentReady"
    """Workloads of one condition are reported together."""
    needs: tuple[str, ...] = ()
    """Conditions of other workloads that come first."""
    config: str = ""
    """Which configuration it reads, if it is not the service's."""
    settings: PodSettings | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[Volume] = ()
    agent: NodeAgent | None = None
    escalates: bool = False
    """Whether its programs may become root inside their container."""
    health: str = "/"
    readiness: tuple[str, ...] = ()
    """Command that succeeds while a daemon works; none: it is ready once it runs."""
    resources: Resources = field(default_factory=lambda: DEFAULT_RESOURCES)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list that an API returns to the service's own user."""

    path: str
    member: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    versions: Range | None = None
    """Microversions that have it; None: it has none."""
    row: type[msgspec.Struct] | None = None
    """Of a list that is judged: all of it is read."""


@dataclass(frozen=True, slots=True)
class Check(Generic[SpecT]):
    """What proves that an API is usable: a token for its own user, and lists."""

    lists: tuple[Listing, ...]
    problem: Callable[[ServiceScope[SpecT], Sequence[msgspec.Struct]], str] = lambda scope, rows: (
        ""
    )
    """Why it is not usable although it responds, from the rows of its lists; empty: it is."""
    type: str = ""
    """Its type in Keystone's catalogue, if `part` has no entry of it."""
    cloud: Callable[[ServiceScope[SpecT]], Cloud | None] | None = None
    """As whom it is asked; None: with the credential of `spec.keystone`."""


@dataclass(frozen=True, slots=True)
class Service(Generic[SpecT]):
    """One OpenStack service: what it consists of, as data."""

    name: str
    resource: type[Resource[SpecT, Any]]
    status: type[ServiceStatus]
    port: int
    config: Callable[[ServiceScope[SpecT]], Config]
    migration: Callable[[ServiceScope[SpecT]], tuple[str, ...]]
    """Command that brings the databases to the release; safe to run again."""
    workloads: Callable[[ServiceScope[SpecT]], Sequence[Workload]]
    configs: Callable[
        [ServiceScope[SpecT]], Mapping[str, Callable[[ServiceScope[SpecT]], Config]]
    ] = lambda scope: {}
    """Further configurations, by the name under which workloads ask for them."""
    check: Check[SpecT] | None = None
    """What proves that its API is usable; None: that a pod answers."""
    part: AnyPart | None = None
    """How a ControlPlane runs it; None: it does not."""
    migration_config: Callable[[ServiceScope[SpecT]], Config] = lambda scope: Config({})
    """What the migration reads besides the addresses of databases and broker."""
    databases: Callable[[SpecT], Sequence[DatabaseNeed]] = main_database
    virtual_hosts: Callable[[SpecT, str], Sequence[str]] = lambda spec, first: (first,)
    """Virtual hosts of the broker, of which the first is the service's."""
    secrets: Callable[[SpecT], Iterable[SecretNeed]] = lambda spec: ()
    passwords: Callable[[str, SpecT], Iterable[SecretNeed]] = lambda instance, spec: ()
    """Secrets whose random values are generated once and then kept."""
    volumes: Callable[[ServiceScope[SpecT]], Iterable[Volume]] = lambda scope: ()
    creates: tuple[Kind, ...] = ()
    """Kinds that it creates besides those that every service does: its operator may write them."""
    required: tuple[str, ...] = ("database", "messaging", "keystone")
    """Blocks without which it cannot run, if its kind has them: the schema may allow none."""
    steps: tuple[Step[SpecT], ...] = ()
    """Steps of its own, between configuration and workloads."""
    last_steps: tuple[Step[SpecT], ...] = ()
    """Steps of its own that need workloads."""
    generated: Callable[[str], Iterable[tuple[Kind, str]]] = lambda instance: ()
    """Secrets that its steps create and must read again, by the name of the object."""
    watches: Mapping[Kind, WatchScope] = field(default_factory=dict)
    """Further kinds that it looks at."""
    follows: tuple[Kind, ...] = ()
    """Kinds of which every object concerns it, in the index `every`."""
    references: Callable[[Key, SpecT], Iterable[tuple[Kind, Key]]] = lambda key, spec: ()
    """Objects that its spec concerns and that no field of a shared block names."""

    @property
    def kind(self) -> Kind:
        return self.resource.definition.kind

    @property
    def config_dir(self) -> str:
        """Where its programs look for configuration."""
        return f"/etc/{self.name}"

    @property
    def secret_dir(self) -> str:
        """Where its programs look for further configuration, unasked: oslo.config does."""
        return f"/etc/{self.name}.conf.d"


AnyService = Service[Any]
