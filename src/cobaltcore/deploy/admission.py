"""ValidatingAdmissionPolicies: what operators would refuse to run is refused when it is written. Pure.

They hold without the operators, and name the field. The operators check the pods themselves as well
(`engine/podpolicy.py`), because specs of other kinds lead to such pods as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cobaltcore.api import neutron, nova, ovn
from cobaltcore.api.foreign.kubernetes import (
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from cobaltcore.engine.podpolicy import PodPolicy
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


def objects(policy: PodPolicy, namespace: str = "") -> Iterator[Desired]:
    """One policy for each kind, and its binding; for objects of all namespaces or of one."""
    for fields in KINDS:
        name = f"{fields.kind.plural}.{fields.kind.group}"
        metadata = {"name": f"{name}.{namespace}" if namespace else name}
        rules = [
            *(_image(path, policy) for path in fields.images),
            *(_selector(path, policy) for path in fields.selectors),
        ]
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


def _image(path: str, policy: PodPolicy) -> Object:
    allowed = _list([f"{each.rstrip('/')}/" for each in policy.registries])
    named = f"object.spec.{path}.repository"
    return {
        "expression": f"{_unset(path)} || {allowed}.exists(each, {named}.startsWith(each))",
        "message": f"spec.{path}.repository: must be in {_words(policy.registries)}, the "
        "registries that the operator allows for programs with rights over nodes",
    }


def _selector(path: str, policy: PodPolicy) -> Object:
    selector, allowed = f"object.spec.{path}", _list(policy.node_labels)
    return {
        "expression": f"{_unset(path)} || {selector}.size() == 0 || {selector}.exists(key, "
        f"key in {allowed} || (key + '=' + {selector}[key]) in {allowed})",
        "message": f"spec.{path}: must ask for {_words(policy.node_labels)}, the labels of nodes "
        "that the operator allows for programs with rights over nodes",
    }


def _unset(path: str) -> str:
    """Whether a field or one that it is in is unset."""
    parts = path.split(".")
    return " || ".join(
        f"!has(object.spec.{'.'.join(parts[: end + 1])})" for end in range(len(parts))
    )


def _list(values: tuple[str, ...] | list[str]) -> str:
    quoted = (each.replace("\\", "\\\\").replace("'", "\\'") for each in values)
    return "[" + ", ".join(f"'{each}'" for each in quoted) + "]"


def _words(values: tuple[str, ...]) -> str:
    return " or ".join(values) or "none: nothing is allowed"
