"""Nodes, also as hypervisors. Pure."""

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.desired import names
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named, named
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Object

MEMORY = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


def inspect(facts: Facts, node: Named) -> Inspection | None:
    """Whether a Node runs pods."""
    found = facts.get(node.kind, node.key)
    if found is None:
        return Inspection(Cause(node, "NotFound", f"{node} does not exist", "kubectl get nodes"))
    for each in conditions.of(found):
        if (each.type == "Ready") != (each.status == "True") and each.type in ("Ready", *MEMORY):
            text = f"{node}: {each.type} is {each.status}: {each.message or each.reason}"
            return Inspection(Cause(node, each.reason or each.type, text, commands.describe(node)))
    return None


def inspect_hypervisor(facts: Facts, node: Named) -> Inspection | None:
    """Whether a Node can run servers at all; what runs on it is in `of_hypervisor`."""
    found = facts.get(node.kind, node.key)
    broken = inspect(facts, node)
    if found is None or broken is not None:
        return broken
    if names.HYPERVISORS.items() <= (found["metadata"].get("labels") or {}).items():
        return None
    label = next(iter(names.HYPERVISORS))
    text = f"{node} is no hypervisor: it has no label {label}"
    return Inspection(
        Cause(node, "NotLabelled", text, f"kubectl label node {node.key.name} {label}=")
    )


def of_hypervisor(facts: Facts, node: Named) -> list[Named]:
    """What of ours a hypervisor consists of: pods, and its chassis."""
    chassis = [key for key in facts.objects.get(CHASSIS, {}) if key.name == node.key.name]
    return [*_pods_on(facts, node.key.name), *(Named(CHASSIS, key) for key in chassis)]


def _pods_on(facts: Facts, name: str) -> list[Named]:
    """Pods of ours on a Node."""
    return [named(POD, pod) for pod in facts.of(POD) if _is_of(pod, name)]


def _is_of(pod: Object, node: str) -> bool:
    labels = pod["metadata"].get("labels") or {}
    ours = labels.get("app.kubernetes.io/part-of") == names.PART_OF
    return bool(ours and pod["spec"].get("nodeName") == node and is_wanted(pod))


def is_wanted(pod: Object) -> bool:
    """Whether a pod is meant to run: those of Jobs end, and others end when they are replaced."""
    has_ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not has_ended and not pod["metadata"].get("deletionTimestamp")
