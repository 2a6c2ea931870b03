"""Why pods do not start, in the words of the kubelet and the scheduler. Pure but for the index."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine.observe import Observed
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Object, Scope

INDEX = "set"
_NAMES = ("name", "instance", "component")
_PASSING = ("ContainerCreating", "PodInitializing", "")
"""What a container waits for without anything being wrong."""
LONGEST = 300


def index(cluster: Cluster, scope: Scope) -> None:
    """Make pods findable by the labels that their set selects them by."""
    cluster.informer(POD, scope).add_index(INDEX, _set_of)


def pods(observed: Observed, namespace: str, selector: Mapping[str, str]) -> Iterable[Object]:
    """The pods of a set."""
    return observed.find(POD, INDEX, _value(namespace, selector))


def of(observed: Observed, namespace: str, selector: Mapping[str, str]) -> str:
    """What is wrong with the pods of a set, as the end of a sentence; empty if nothing is."""
    return among(pods(observed, namespace, selector))


def among(found: Iterable[Object]) -> str:
    """What is wrong with the first of these pods that does not start."""
    for pod in found:
        for cause in _causes(pod):
            name = pod["metadata"]["name"]
            return f"; pod {name!r}: {cause}"[:LONGEST]
    return ""


def _causes(pod: Object) -> Iterator[str]:
    status = pod.get("status") or {}
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield f"not scheduled: {each.get('message') or each.get('reason')}"
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    for each in containers:
        yield from _wait_of(each)


def _wait_of(container: Mapping[str, Any]) -> Iterable[str]:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in _PASSING:
        return
    ended = (container.get("lastState") or {}).get("terminated") or {}
    words = (ended.get("message") or "").strip().splitlines()
    if ended and not words:
        words = [f"exit code {ended.get('exitCode')}"]
    said = words[-1] if words else waiting.get("message", "")
    yield f"{container['name']}: {reason}: {said}".rstrip(": ")


def _set_of(pod: Object) -> Iterator[str]:
    labels = pod["metadata"].get("labels") or {}
    yield _value(pod["metadata"].get("namespace", ""), labels)


def _value(namespace: str, labels: Mapping[str, str]) -> str:
    return "/".join((namespace, *(labels.get(f"app.kubernetes.io/{n}", "") for n in _NAMES)))
