"""What a pass over a ControlPlane knows, read beforehand. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from cobaltcore.api.blocks import Image
from cobaltcore.api.controlplane import ControlPlane, ControlPlaneSpec
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.services import ServiceToggle
from cobaltcore.engine.desired import names
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object, Struct

OPERATOR = "c5c3"


@dataclass(frozen=True, slots=True)
class View:
    """One ControlPlane and the cluster around it."""

    plane: ControlPlane
    observed: Observed
    random: Callable[[int], bytes]
    images: Callable[[str, str], str]
    """Tag of a component's image in a release."""

    @property
    def spec(self) -> ControlPlaneSpec:
        """The typed spec."""
        return self.plane.spec

    @property
    def keeps_data(self) -> bool:
        """Whether data outlives the control plane."""
        return self.spec.deletion_policy == "Retain"

    def key(self, name: str) -> Key:
        """A child of this name."""
        return Key(self.plane.metadata.namespace, name)

    def labels(self, component: str) -> dict[str, str]:
        """Labels of a child."""
        return names.labels(OPERATOR, self.plane.metadata.name, component)

    def replicas(self, own: int | None, default: int) -> int:
        """A number of replicas: the part's own, else the one for all, else a tested one."""
        return own or self.spec.global_.replicas or default

    def image(self, component: str) -> Image:
        """The image of a component in the wanted release."""
        tag = self.images(component, self.spec.open_stack_release)
        return Image(repository=f"{self.spec.global_.image_registry}/{component}", tag=tag)

    def get(self, kind: Kind, name: str) -> Object | None:
        """A child as it is."""
        return self.observed.get(kind, self.key(name))

    def content(self, name: str) -> Object | None:
        """A Secret with its data."""
        return self.observed.content(SECRET, self.key(name))

    def toggle(self, service: str) -> ServiceToggle:
        """What the user says about a service."""
        given: ServiceToggle = getattr(self.spec.services, service)
        return given

    def made(self, kind: Kind, name: str, spec: Struct, component: str) -> Desired:
        """A child as it should be."""
        key = self.key(name)
        meta = {"name": key.name, "namespace": key.namespace, "labels": self.labels(component)}
        return Desired(kind, {"metadata": meta, "spec": msgspec.to_builtins(spec)})


def is_ready(view: View, kind: Kind, name: str, *, condition: str = "Ready") -> Verdict:
    """Whether a child says so itself, about the spec that it has now if it tells generations."""
    found = view.get(kind, name)
    if found is None:
        return Waiting("Creating", f"{kind.kind} {name!r} is being made")
    told = _find(found, condition)
    if told is None:
        return Waiting("NotReported", f"{kind.kind} {name!r} has not reported yet")
    behind = told.observed_generation not in (None, found["metadata"].get("generation"))
    if told.status == "True" and not behind:
        return Ready("Ready")
    why = "its spec changed" if behind else told.message or told.reason
    return Waiting(told.reason or "NotReady", f"{kind.kind} {name!r}: {why}")


def _find(obj: Object, type_: str) -> Condition | None:
    listed = (obj.get("status") or {}).get("conditions") or ()
    told = [
        Condition(
            type=each["type"],
            status=each["status"],
            reason=each.get("reason", ""),
            message=each.get("message", ""),
            observed_generation=each.get("observedGeneration"),
        )
        for each in listed
    ]
    return conditions.find(told, type_)
