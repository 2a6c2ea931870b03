"""What a reconcile of a ControlPlane knows. Pure."""

from dataclasses import dataclass

import msgspec

from cobaltcore.api import services
from cobaltcore.api.blocks import Image
from cobaltcore.api.controlplane import ControlPlaneSpec, ControlPlaneStatus
from cobaltcore.api.foreign.kubernetes import SECRET, STATEFUL_SET
from cobaltcore.api.toggles import ServiceToggle
from cobaltcore.engine import readiness, releases
from cobaltcore.engine.desired import names
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import Verdict
from cobaltcore.runtime.meta import Desired, Kind, Object, Struct

OPERATOR = "c5c3"


@dataclass(frozen=True, kw_only=True)
class View(Scope[ControlPlaneSpec, ControlPlaneStatus]):
    """One ControlPlane and the cluster around it."""

    @property
    def keeps_data(self) -> bool:
        """Whether data outlives the control plane."""
        return self.spec.deletion_policy == "Retain"

    def labels(self, component: str) -> dict[str, str]:
        """Labels of a child."""
        return names.labels(OPERATOR, self.name, component)

    def replicas(self, own: int | None, default: int) -> int:
        """A number of replicas: the part's own, else the one for all, else a tested one."""
        return own or self.spec.global_.replicas or default

    def image(self, component: str) -> Image:
        """The image of a component in the release of the spec."""
        tag = releases.image_tag(component, self.spec.open_stack_release)
        return Image(repository=f"{self.spec.global_.image_registry}/{component}", tag=tag)

    def get(self, kind: Kind, name: str) -> Object | None:
        """A child as it is."""
        return self.observed.get(kind, self.sibling(name))

    def content(self, name: str) -> Object | None:
        """A Secret with its data."""
        return self.observed.content(SECRET, self.sibling(name))

    def toggle(self, service: str) -> ServiceToggle:
        """The block of a service."""
        return services.of(self.spec.services, service)

    def child(self, kind: Kind, name: str, spec: Struct, component: str) -> Desired:
        """A child as it should be."""
        key = self.sibling(name)
        meta = {"name": key.name, "namespace": key.namespace, "labels": self.labels(component)}
        return Desired(kind, {"metadata": meta, "spec": msgspec.to_builtins(spec)})


def has_pods(view: View, name: str) -> bool:
    """Whether any pod of a StatefulSet serves."""
    found = view.get(STATEFUL_SET, name) or {}
    return bool((found.get("status") or {}).get("readyReplicas"))


def reports(view: View, kind: Kind, name: str, *wanted: str) -> bool:
    """Whether a child reports conditions, be it about its newest spec or the one before."""
    found = view.get(kind, name)
    return all(readiness.is_true(found, each) for each in wanted)


def is_ready(view: View, kind: Kind, name: str, *, condition: str = "Ready") -> Verdict:
    """Whether a child reports that it is ready."""
    return readiness.of(view.observed, kind, view.sibling(name), condition=condition)
