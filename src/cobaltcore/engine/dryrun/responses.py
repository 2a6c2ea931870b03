"""What Kubernetes and third parties report after a write, if all goes well. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from cobaltcore.api.foreign import certmanager, eso, rook
from cobaltcore.api.foreign.kubernetes import (
    DAEMON_SET,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine.diagnosis.ours import is_ours
from cobaltcore.runtime.meta import Kind, Object

ISSUED = "aXNzdWVkIGxhdGVy"
"""Base64 of "issued later"."""
HEALTHY = ("Ready", "AllReplicasReady", "ClusterAvailable", "Available")
ADDRESS = "192.0.2.1"
"""Of Services that have none yet: an address for documentation."""


def responder(assumed: Collection[Kind]) -> Callable[[Kind, Object], Object]:
    """`assumed`: kinds of ours that depend on what is outside of Kubernetes, reported as ready."""

    def respond(kind: Kind, obj: Object) -> Object:
        status = _status(kind, obj, assumed)
        if kind == SERVICE and not obj["spec"].get("clusterIP"):
            obj = {**obj, "spec": {**obj["spec"], "clusterIP": ADDRESS}}
        return {**obj, "status": status} if status is not None else obj

    return respond


def followers(kind: Kind, obj: Object) -> Iterator[tuple[Kind, Object]]:
    """Objects that other controllers create for one."""
    meta, spec = obj["metadata"], obj.get("spec") or {}
    if kind == SERVICE:
        labels = {**(meta.get("labels") or {}), "kubernetes.io/service-name": meta["name"]}
        slice_ = _object(ENDPOINT_SLICE, f"{meta['name']}-dry-run", meta["namespace"], labels)
        yield ENDPOINT_SLICE, {**slice_, "endpoints": [{"conditions": {"ready": True}}]}
    if kind == certmanager.CERTIFICATE:
        yield SECRET, _secret(spec["secretName"], obj, "tls.crt", "tls.key", "ca.crt")
    if kind == eso.EXTERNAL_SECRET:
        keys = ("application_credential_id", "application_credential_secret")
        yield SECRET, _secret(spec["target"]["name"], obj, *keys)
    if kind == rook.CEPH_CLIENT:
        yield SECRET, _secret(f"rook-ceph-client-{meta['name']}", obj, meta["name"])


def _status(kind: Kind, obj: Object, assumed: Collection[Kind]) -> dict[str, Any] | None:
    before = obj.get("status") or {}
    generation = obj["metadata"].get("generation", 1)
    if kind in assumed:
        return {**before, "conditions": _true(before, generation)}
    if is_ours(kind):
        return None
    if "." in kind.group and not kind.group.endswith(".k8s.io"):
        reported = _true({"conditions": [{"type": each} for each in HEALTHY]}, generation)
        id_ = before.get("id") or obj["metadata"]["uid"]
        return {**before, "conditions": reported, "phase": rook.READY_PHASE, "id": id_}
    settled = _BUILTIN.get(kind)
    return {**before, **settled(obj), "observedGeneration": generation} if settled else None


def _pods(obj: Object) -> dict[str, Any]:
    fields = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    return dict.fromkeys(fields, obj["spec"].get("replicas", 1))


def _pods_on_nodes(obj: Object) -> dict[str, Any]:
    wanted = (obj.get("status") or {}).get("desiredNumberScheduled", 0)
    return {"numberReady": wanted, "updatedNumberScheduled": wanted}


def _completed(obj: Object) -> dict[str, Any]:
    done = {"type": "Complete", "status": "True", "lastTransitionTime": ""}
    return {"conditions": [done], "succeeded": 1}


def _bound(obj: Object) -> dict[str, Any]:
    return {"phase": "Bound"}


_BUILTIN: Mapping[Kind, Callable[[Object], dict[str, Any]]] = {
    DEPLOYMENT: _pods,
    STATEFUL_SET: _pods,
    DAEMON_SET: _pods_on_nodes,
    JOB: _completed,
    PERSISTENT_VOLUME_CLAIM: _bound,
}


def _true(before: Mapping[str, Any], generation: int) -> list[dict[str, Any]]:
    known = {"Ready", *(each["type"] for each in before.get("conditions") or ())}
    return [
        {"type": each, "status": "True", "reason": "Assumed", "observedGeneration": generation}
        for each in sorted(known - {"Stalled"})
    ]


def _secret(name: str, owner: Object, *keys: str) -> Object:
    meta = owner["metadata"]
    found = _object(SECRET, name, meta["namespace"], {})
    return {**found, "data": dict.fromkeys(keys, ISSUED)}


def _object(kind: Kind, name: str, namespace: str, labels: Mapping[str, str]) -> Object:
    meta = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
