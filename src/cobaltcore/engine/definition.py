"""The words that services are written in. Pure: a definition is data and functions without I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cobaltcore.api.base import Resource
from cobaltcore.api.blocks import Image, ServiceSpec
from cobaltcore.api.pods import PodSettings
from cobaltcore.engine.desired import names
from cobaltcore.engine.desired.pods import Mount
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.verdict import Verdict
from cobaltcore.runtime.meta import Desired, Key, Kind, Object


@dataclass(frozen=True, slots=True)
class Config:
    """Files for a ConfigMap, and the options that must not be in one."""

    files: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """oslo.config variables (OS_GROUP__OPTION) with secret values."""


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


@dataclass(frozen=True, slots=True)
class Result:
    """What a step wants and how it stands."""

    verdict: Verdict
    objects: Sequence[Desired] = ()
    remove: Sequence[tuple[Kind, Key]] = ()
    """Objects to delete so that they can be made anew, for example a failed Job."""


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the chain, with a condition of its own."""

    condition: str
    run: Callable[[Facts], Result]
    when: Callable[[Facts], bool] = lambda facts: True


@dataclass(frozen=True, slots=True)
class Task:
    """A command that runs to its end once; other inputs are another run."""

    name: str
    command: tuple[str, ...]
    inputs: object = None
    secret_environment: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Variables from Secrets: variable to name and key."""


@dataclass(frozen=True, slots=True)
class SecretNeed:
    """A Secret that somebody else provides."""

    name: str
    keys: tuple[str, ...]
    purpose: str


@dataclass(frozen=True, slots=True)
class DatabaseNeed:
    """A database of the service; `option` is the oslo.config section that its address goes to."""

    name: str
    section: str = "database"


@dataclass(frozen=True, slots=True)
class Workload:
    """A set of equal pods. `module` makes it an API under uWSGI, `command` a daemon."""

    component: str
    replicas: Callable[[Any], int]
    module: str = ""
    command: tuple[str, ...] = ()
    settings: Callable[[Any], PodSettings | None] = lambda spec: None
    environment: Mapping[str, str] = field(default_factory=dict)
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
    migration: tuple[str, ...]
    """Command that brings the database to the release; safe to run again."""
    workloads: tuple[Workload, ...]
    databases: Callable[[Any], Sequence[DatabaseNeed]] = lambda spec: (
        DatabaseNeed(spec.database.database),
    )
    secrets: Callable[[Any], Iterable[SecretNeed]] = lambda spec: ()
    mounts: Callable[[Facts], Iterable[Mount]] = lambda facts: ()
    steps: tuple[Step, ...] = ()
    """Steps of its own, between configuration and workloads."""
    generated: Callable[[str], Iterable[tuple[Kind, str]]] = lambda instance: ()
    """Secrets that its steps make and must see again, by the name of the object."""

    @property
    def config_dir(self) -> str:
        """Where its programs look for configuration."""
        return f"/etc/{self.name}"

    def image(self, spec: Any) -> Image:
        """The image that all its programs come from."""
        image: Image = spec.image
        return image

    def base(self, spec: Any) -> ServiceSpec:
        """The part of the spec that all services share."""
        shared: ServiceSpec = spec
        return shared
