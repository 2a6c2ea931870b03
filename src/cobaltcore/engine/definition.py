"""The words that services are written in. Pure: a definition is data and functions without I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cobaltcore.api.base import Resource
from cobaltcore.api.blocks import Image, ServiceSpec
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine import releases
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.verdict import Verdict
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, Scope


class NotYet(Exception):
    """A configuration needs something that is on its way."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Config:
    """Files for a ConfigMap, and what must not be in one."""

    files: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """oslo.config variables (OS_GROUP__OPTION) with secret values."""
    secret_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """Directories with secret files: path to file name to text."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a pass knows, read beforehand."""

    service: "Service"
    live: Object
    resource: Resource[Any, Any]
    observed: Observed
    now: datetime
    random: Callable[[int], bytes]

    @property
    def spec(self) -> Any:
        """The typed spec."""
        return self.resource.spec

    @property
    def key(self) -> Key:
        """Namespace and name of the object."""
        return Key(self.resource.metadata.namespace, self.resource.metadata.name)

    def named(self, suffix: str) -> Key:
        """A child's name."""
        return Key(self.key.namespace, f"{self.key.name}-{suffix}")

    def beside(self, name: str) -> Key:
        """Another object of the same namespace."""
        return Key(self.key.namespace, name)

    def labels(self, component: str = "") -> dict[str, str]:
        """Labels of a child."""
        return names.labels(self.service.name, self.key.name, component)

    def selector(self, component: str) -> dict[str, str]:
        """Labels by which pods of a component are found."""
        return names.selector(self.service.name, self.key.name, component)

    def workloads(self) -> Sequence["Workload"]:
        """The sets of pods that should run."""
        return self.service.workloads(self)


@dataclass(frozen=True, slots=True)
class Result:
    """What a step wants and how it stands."""

    verdict: Verdict
    objects: Sequence[Desired] = ()
    remove: Sequence[tuple[Kind, Key]] = ()
    """Objects to delete so that they can be made anew, for example a failed Job."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the object's status that this step knows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the chain, with a condition of its own."""

    condition: str
    run: Callable[[Facts], Result]
    when: Callable[[Facts], bool] = lambda facts: True
    needs: tuple[str, ...] | None = None
    """Conditions that come first; None: those of all steps before. Others run beside it."""
    gates: bool = True
    """Whether workloads wait for it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A command that runs to its end once; other inputs are another run."""

    name: str
    command: tuple[str, ...]
    inputs: object = None
    secret_environment: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Variables from Secrets: variable to name and key."""
    prepares: bool = False
    """It needs databases and broker only, so it may run before there is a Keystone."""


@dataclass(frozen=True, slots=True)
class SecretNeed:
    """A Secret with certain keys; of a tuple of keys one is enough."""

    name: str
    keys: tuple[str | tuple[str, ...], ...]
    purpose: str


@dataclass(frozen=True, slots=True)
class DatabaseNeed:
    """A database of the service; `section` of oslo.config gets its address, if any."""

    name: str
    section: str = "database"


@dataclass(frozen=True, slots=True)
class NodeAgent:
    """Makes a workload a program of nodes: root, the node's network, one pod on every node.

    Without a nodeSelector of the user these are the nodes labelled as hypervisors.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    """What differs between nodes: variable to the field of the pod that it comes from."""
    prepare: tuple[Task, ...] = ()
    """Commands that run before it in the same surroundings."""
    beside: tuple[Task, ...] = ()
    """Programs that run beside it in the same surroundings."""
    host_processes: bool = False
    """Whether it sees the processes of the node."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that nodes must carry as well."""
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels whose values keep it away from a node."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A set of equal pods. `module` makes it an API under uWSGI, `command` a daemon."""

    component: str
    replicas: Callable[[Any], int] = lambda spec: 1
    module: str = ""
    command: tuple[str, ...] = ()
    port: int = 0
    """Port of the API, if it is not the service's."""
    condition: str = "DeploymentReady"
    """Workloads of one condition are reported together."""
    needs: tuple[str, ...] = ()
    """Conditions of other workloads that come first."""
    config: str = ""
    """Which configuration it reads, if it is not the service's."""
    settings: Callable[[Any], PodSettings | None] = lambda spec: None
    environment: Mapping[str, str] = field(default_factory=dict)
    secret_environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that take the value of another one of its configuration."""
    mounts: Callable[[Facts], Iterable[Mount]] = lambda facts: ()
    agent: NodeAgent | None = None
    escalates: bool = False
    """Whether its programs may become root inside their container."""
    health: str = "/"
    resources: Mapping[str, Any] = field(
        default_factory=lambda: {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "1Gi"},
        }
    )


@dataclass(frozen=True, slots=True)
class Service:
    """One OpenStack service: what it is made of, as data."""

    name: str
    kind: Kind
    resource: type[Resource[Any, Any]]
    port: int
    config: Callable[[Facts], Config]
    migration: Callable[[Facts], tuple[str, ...]]
    """Command that brings the databases to the release; safe to run again."""
    workloads: Callable[[Facts], Sequence[Workload]]
    configs: Mapping[str, Callable[[Facts], Config]] = field(default_factory=dict)
    """Further configurations, by the name under which workloads ask for them."""
    preparation: Callable[[Facts], Config] = lambda facts: Config({})
    """What the migration reads beside the addresses of databases and broker."""
    databases: Callable[[Any], Sequence[DatabaseNeed]] = lambda spec: (
        DatabaseNeed(spec.database.database),
    )
    virtual_hosts: Callable[[Any, str], Sequence[str]] = lambda spec, first: (first,)
    """Virtual hosts of the broker, of which the first is the service's."""
    secrets: Callable[[Any], Iterable[SecretNeed]] = lambda spec: ()
    passwords: Callable[[str, Any], Iterable[SecretNeed]] = lambda instance, spec: ()
    """Secrets whose random values are made once and then kept."""
    mounts: Callable[[Facts], Iterable[Mount]] = lambda facts: ()
    steps: tuple[Step, ...] = ()
    """Steps of its own, between configuration and workloads."""
    last_steps: tuple[Step, ...] = ()
    """Steps of its own that need workloads."""
    generated: Callable[[str], Iterable[tuple[Kind, str]]] = lambda instance: ()
    """Secrets that its steps make and must see again, by the name of the object."""
    watches: Mapping[Kind, Scope] = field(default_factory=dict)
    """Further kinds that it looks at."""
    follows: tuple[Kind, ...] = ()
    """Kinds of which every object concerns it, in the index `every`."""
    references: Callable[[Key, Any], Iterable[tuple[Kind, Key]]] = lambda key, spec: ()
    """Objects that its spec concerns and that no field of a shared block names."""

    @property
    def config_dir(self) -> str:
        """Where its programs look for configuration."""
        return f"/etc/{self.name}"

    def image(self, spec: Any) -> Image:
        """The image that all its programs come from; unset: that of the newest release."""
        given: Image | None = spec.image
        if given is not None:
            return given
        tag = releases.image_tag(self.name, max(releases.IMAGE_TAGS))
        return Image(repository=f"{releases.REGISTRY}/{self.name}", tag=tag)

    def base(self, spec: Any) -> ServiceSpec:
        """The part of the spec that all services share."""
        shared: ServiceSpec = spec
        return shared
