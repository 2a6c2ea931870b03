"""The scope of a reconcile of an OVNCluster. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cobaltcore.api.foreign.kubernetes import NODE, SECRET, SERVICE
from cobaltcore.api.ovn import CHASSIS, CLUSTER, OVNClusterSpec, OVNClusterStatus
from cobaltcore.engine import podfailures
from cobaltcore.engine.desired import names
from cobaltcore.engine.scope import Answer, Scope
from cobaltcore.operators.ovn import nodes
from cobaltcore.operators.ovn.southbound import Records
from cobaltcore.runtime.meta import Key, Kind, Object

OPERATOR = "ovn"
RECORDS = "southbound"
"""The probe that reads the southbound database."""


@dataclass(frozen=True, kw_only=True)
class View(Scope[OVNClusterSpec, OVNClusterStatus]):
    """One OVNCluster and the cluster around it."""

    @cached_property
    def taken(self) -> Mapping[str, str]:
        """Nodes that belong to an older OVNCluster."""
        return nodes.taken(self._hypervisors, self.live, self.observed.list(CLUSTER))

    @cached_property
    def nodes(self) -> Sequence[Object]:
        """Hypervisor nodes of this OVNCluster, by name."""
        return [each for each in self._hypervisors if each["metadata"]["name"] not in self.taken]

    @cached_property
    def chassis(self) -> Mapping[str, Object]:
        """OVNChassis objects of the namespace, by name."""
        found = self.observed.list(CHASSIS, self.namespace)
        return {each["metadata"]["name"]: each for each in found}

    @cached_property
    def _hypervisors(self) -> list[Object]:
        return nodes.hypervisors(self.observed.list(NODE), self.spec.ovs.node_selector)

    @property
    def records(self) -> Records | None:
        """Chassis as the southbound database has them; None: it was not queried, or is unreachable."""
        return self._answer.value

    @property
    def fault(self) -> str:
        """Why the southbound database is unreachable."""
        return self._answer.fault

    @property
    def _answer(self) -> "Answer[Records]":
        answer: Answer[Records] = self.answers.get(RECORDS, Answer())  # type: ignore[assignment]
        return answer

    def labels(self, component: str) -> dict[str, str]:
        """Labels of a child."""
        return names.labels(OPERATOR, self.name, component)

    def selector(self, component: str) -> dict[str, str]:
        """Labels by which pods of a component are found."""
        return names.selector(OPERATOR, self.name, component)

    def pods_on(self, node: str, component: str) -> list[Object]:
        """Pods of a component on a node, terminating ones too."""
        found = podfailures.pods(self.observed, self.namespace, self.selector(component))
        return [pod for pod in found if pod["spec"].get("nodeName") == node]

    def pod_failure(self, component: str) -> str:
        """Why pods of a component do not start, as the end of a sentence."""
        return podfailures.of(self.observed, self.namespace, self.selector(component))

    def get(self, kind: Kind, key: Key) -> Object | None:
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
        """The Secret with certificate, key and CA."""
        external = self.spec.tls.cert_secret_ref
        return external.name if external else names.certificate_secret(self.name)

    @property
    def tls_content(self) -> Object | None:
        """That Secret with its data."""
        return self.observed.content(SECRET, self.sibling(self.tls_secret))

    def service_address(self, name: str) -> str:
        """The cluster IP of a Service; empty if it has none yet.

        ovn-controller must work without DNS, so it gets addresses, not names.
        """
        found = self.get(SERVICE, self.sibling(name)) or {}
        address = (found.get("spec") or {}).get("clusterIP") or ""
        return "" if address == "None" else str(address)
