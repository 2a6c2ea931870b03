"""What a pass over an OVNCluster knows, read beforehand. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.api.ovn import OVNCluster, OVNClusterSpec
from cobaltcore.engine import trouble
from cobaltcore.engine.desired import names
from cobaltcore.engine.observe import Observed
from cobaltcore.operators.ovn.southbound import Record
from cobaltcore.runtime.meta import Key, Kind, Object

OPERATOR = "ovn"
NB_PORT, SB_PORT = 6641, 6642


@dataclass(frozen=True, slots=True)
class View:
    """One OVNCluster and the cluster around it."""

    cluster: OVNCluster
    observed: Observed
    now: datetime
    nodes: Sequence[Object] = ()
    """Hypervisor nodes, by name."""
    taken: Mapping[str, str] = field(default_factory=dict)
    """Nodes that belong to an older OVNCluster."""
    chassis: Mapping[str, Object] = field(default_factory=dict)
    """OVNChassis objects of the namespace, by name."""
    records: Mapping[str, Record] | None = None
    """Hypervisors as the southbound database knows them; None: it was not asked, or is silent."""
    problem: str = ""
    """Why the southbound database is silent."""

    @property
    def spec(self) -> OVNClusterSpec:
        """The typed spec."""
        return self.cluster.spec

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.cluster.metadata.name

    def key(self, name: str) -> Key:
        """Another object of the namespace."""
        return Key(self.cluster.metadata.namespace, name)

    def named(self, suffix: str) -> Key:
        """A child's name."""
        return self.key(f"{self.name}-{suffix}")

    def labels(self, component: str) -> dict[str, str]:
        """Labels of a child."""
        return names.labels(OPERATOR, self.name, component)

    def selector(self, component: str) -> dict[str, str]:
        """Labels by which pods of a component are found."""
        return names.selector(OPERATOR, self.name, component)

    def pods_on(self, node: str, component: str) -> list[Object]:
        """Pods of a component on a node, those that are about to end too."""
        selector = self.selector(component)
        found = trouble.pods(self.observed, self.cluster.metadata.namespace, selector)
        return [pod for pod in found if pod["spec"].get("nodeName") == node]

    def trouble(self, component: str) -> str:
        """What is wrong with the pods of a component, if something is."""
        return trouble.of(self.observed, self.cluster.metadata.namespace, self.selector(component))

    def get(self, kind: Kind, key: Key) -> Object | None:
        """An object as it is."""
        return self.observed.get(kind, key)

    @property
    def is_encrypted(self) -> bool:
        """Whether all connections use TLS."""
        return self.spec.tls.enabled

    @property
    def protocol(self) -> str:
        """As OVN writes it in connection strings."""
        return "ssl" if self.is_encrypted else "tcp"

    @property
    def tls_secret(self) -> str:
        """The Secret with certificate, key and authority."""
        given = self.spec.tls.cert_secret_ref
        return given.name if given else names.certificate_secret(self.name)

    def service_address(self, name: str) -> str:
        """The cluster address of a Service; empty if it has none yet.

        Switches keep working without a name server, so they are told addresses, not names.
        """
        found = self.get(SERVICE, self.key(name)) or {}
        address = (found.get("spec") or {}).get("clusterIP") or ""
        return "" if address == "None" else str(address)
