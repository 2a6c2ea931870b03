"""ValidatingAdmissionPolicies: what operators would refuse to run is refused when it is written. Pure.

What they allow are values of the installation. They hold without the operators, and name the field. The operators check the pods themselves as well
(`engine/podpolicy.py`), because specs of other kinds lead to such pods as well.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from cobaltcore.api import neutron, nova, ovn
from cobaltcore.api.foreign.kubernetes import (
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from cobaltcore.deploy.symbols import place
from cobaltcore.runtime.meta import Desired, Kind, Object
from cobaltcore.runtime.webhook_objects import NAMESPACE_LABEL


@dataclass(frozen=True, slots=True)
class NodeFields:
    """Fields of a kind that say what runs with rights over nodes, and where."""

    kind: Kind
    images: tuple[str, ...]
    selectors: tuple[str, ...]


KINDS = (
    NodeFields(nova.KIND, ("image", "compute.libvirtImage"), ("compute.nodeSelector",)),
    NodeFields(neutron.KIND, ("image",), ("metadataAgent.nodeSelector",)),
    NodeFields(
        ovn.CLUSTER,
        ("ovnImage", "ovsImage"),
        ("controller.nodeSelector", "ovs.nodeSelector"),
    ),
)


_REGISTRIES = place("celpaths", "allowedRegistries")
_REGISTRY_WORDS = place("words", "allowedRegistries")
_LABELS = place("cel", "allowedNodeLabels")
_LABEL_WORDS = place("words", "allowedNodeLabels")


def objects(served: Container[Kind], namespace: str = "") -> Iterator[Desired]:
    """A policy and its binding for each of those kinds; for objects of all namespaces or of one."""
    for fields in KINDS:
        if fields.kind not in served:
            continue
        name = f"{fields.kind.plural}.{fields.kind.group}"
        metadata = {"name": f"{name}.{namespace}" if namespace else name}
        rules = [*map(_image, fields.images), *map(_selector, fields.selectors)]
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": _matches(fields.kind, namespace),
            "validations": rules,
        }
        yield Desired(VALIDATING_ADMISSION_POLICY, {"metadata": metadata, "spec": spec})
        binding = {"policyName": metadata["name"], "validationActions": ["Deny"]}
        yield Desired(VALIDATING_ADMISSION_POLICY_BINDING, {"metadata": metadata, "spec": binding})


def _matches(kind: Kind, namespace: str) -> Object:
    """With every default: appliers own the block as a whole, and conflict where they differ."""
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "resources": [kind.plural],
        "operations": ["CREATE", "UPDATE"],
        "scope": "*",
    }
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: namespace}} if namespace else {},
        "objectSelector": {},
        "resourceRules": [rule],
    }


def _image(path: str) -> Object:
    named = f"object.spec.{path}.repository"
    return {
        "expression": f"{_unset(path)} || {_REGISTRIES}.exists(each, {named}.startsWith(each))",
        "message": f"spec.{path}.repository: must be in {_REGISTRY_WORDS}, the "
        "registries that the operator allows for programs with rights over nodes",
    }


def _selector(path: str) -> Object:
    selector = f"object.spec.{path}"
    return {
        "expression": f"{_unset(path)} || {selector}.size() == 0 || {selector}.exists(key, "
        f"key in {_LABELS} || (key + '=' + {selector}[key]) in {_LABELS})",
        "message": f"spec.{path}: must ask for {_LABEL_WORDS}, the labels of nodes "
        "that the operator allows for programs with rights over nodes",
    }


def _unset(path: str) -> str:
    """Whether a field or one that it is in is unset."""
    parts = path.split(".")
    return " || ".join(
        f"!has(object.spec.{'.'.join(parts[: end + 1])})" for end in range(len(parts))
    )
