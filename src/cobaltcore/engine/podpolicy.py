"""What pods with rights over their node may be: their images and nodes. Pure.

A user who may create a Nova, a Neutron or an OVNCluster chooses images and nodes of programs that run as
root on those nodes. The operator's settings limit both, whatever a spec asks for.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cobaltcore.engine import releases
from cobaltcore.engine.desired import names
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.runtime.meta import Desired, Object

HYPERVISOR = next(iter(names.HYPERVISORS))


@dataclass(frozen=True, slots=True)
class PodPolicy:
    """Settings of an operator."""

    registries: tuple[str, ...] = (releases.REGISTRY,)
    """Registries, or paths in one, that images come from."""
    node_labels: tuple[str, ...] = (HYPERVISOR,)
    """Labels (KEY or KEY=VALUE), one of which the node selector must ask for."""

    def check(self, wanted: Iterable[Desired]) -> None:
        """Raise unless every pod with rights over its node is permitted."""
        for each in wanted:
            pod = _template(each)
            if pod is not None and has_node_rights(pod):
                self._check(f"{each.kind.kind} {each.key.name!r}", pod)

    def _check(self, owner: str, pod: Mapping[str, Any]) -> None:
        for image in sorted({each["image"] for each in _containers(pod)}):
            if not self.permits_image(image):
                raise InputInvalid(
                    "ImageNotAllowed",
                    f"{owner} has rights over its nodes, and its image {image!r} is not from "
                    f"{_listed(self.registries)}; choose another image, or start the operator with "
                    "--allowed-registries",
                )
        if not self.permits_nodes(pod.get("nodeSelector") or {}):
            raise InputInvalid(
                "NodesNotAllowed",
                f"{owner} has rights over its nodes, and its nodeSelector asks for none of "
                f"{_listed(self.node_labels)}; add it, or start the operator with "
                "--allowed-node-labels",
            )

    def permits_image(self, image: str) -> bool:
        return any(image.startswith(f"{each.rstrip('/')}/") for each in self.registries)

    def permits_nodes(self, selector: Mapping[str, str]) -> bool:
        wanted = {*selector, *(f"{key}={value}" for key, value in selector.items())}
        return not wanted.isdisjoint(self.node_labels)


def has_node_rights(pod: Mapping[str, Any]) -> bool:
    """Whether a program of a pod can reach what is outside of the pod."""
    shares = any(pod.get(field) for field in ("hostNetwork", "hostPID", "hostIPC"))
    mounts = any("hostPath" in each for each in pod.get("volumes") or ())
    privileged = (
        (each.get("securityContext") or {}).get("privileged") for each in _containers(pod)
    )
    return shares or mounts or any(privileged)


def _template(wanted: Desired) -> Object | None:
    """The pod of a workload."""
    template = (wanted.body.get("spec") or {}).get("template")
    found = template.get("spec") if isinstance(template, Mapping) else None
    return found if isinstance(found, dict) and "containers" in found else None


def _containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field in ("initContainers", "containers"):
        yield from pod.get(field) or ()


def _listed(values: tuple[str, ...]) -> str:
    return " or ".join(repr(each) for each in values) or "any allowed one: there is none"
