"""valkey-operator (`cache.cs.sap.com/v1alpha1`): the fields that we set and read."""

from cobaltcore.api.base import Quantity
from cobaltcore.api.foreign.kubernetes import Resources
from cobaltcore.api.foreign.manifest import ConditionedStatus
from cobaltcore.runtime.meta import Kind, Struct

VALKEY = Kind("cache.cs.sap.com", "v1alpha1", "Valkey", "valkeys")


class Sentinel(Struct):
    """Automatic election of a new primary."""

    enabled: bool


class Issuer(Struct):
    """Who signs the server certificate."""

    name: str
    kind: str | None = None
    group: str | None = None


class CertManager(Struct):
    """Certificates from cert-manager instead of a self-signed one."""

    issuer: Issuer


class Tls(Struct):
    """Transport encryption of client connections."""

    enabled: bool
    cert_manager: CertManager | None = None


class Monitor(Struct):
    """The ServiceMonitor of the exporter."""

    enabled: bool


class Metrics(Struct):
    """The exporter, a sidecar of the server."""

    enabled: bool
    monitor: Monitor | None = None


class Persistence(Struct):
    """The volume of each replica."""

    enabled: bool
    size: Quantity | None = None
    storage_class: str | None = None


class Binding(Struct):
    """The Secret in which the operator puts host, port and password."""

    secret_name: str | None = None
    template: str | None = None


class ValkeySpec(Struct):
    """A server, or a primary with replicas."""

    replicas: int = 1
    version: str | None = None
    sentinel: Sentinel | None = None
    tls: Tls | None = None
    metrics: Metrics | None = None
    persistence: Persistence | None = None
    binding: Binding | None = None
    resources: Resources | None = None


class ValkeyStatus(ConditionedStatus):
    """What the operator reports."""

    state: str = ""
