"""Why pods do not start, as the kubelet and the scheduler report it. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine.observed import Observed
from cobaltcore.runtime.meta import Object
from cobaltcore.runtime.text import shortened

INDEX = "set"
_NAMES = ("name", "instance", "component")
_NORMAL = ("ContainerCreating", "PodInitializing", "")
"""Reasons of a container that is starting normally."""
LONGEST = 300


class Failure(NamedTuple):
    """Why a pod does not start; no container if it has no node."""

    container: str
    reason: str
    message: str

    def __str__(self) -> str:
        what = f"{self.container}: {self.reason}" if self.container else "not scheduled"
        return f"{what}: {self.message}".rstrip(": ")


def pods(observed: Observed, namespace: str, selector: Mapping[str, str]) -> Iterable[Object]:
    """The pods of a Deployment, StatefulSet or DaemonSet."""
    return observed.find(POD, INDEX, _value(namespace, selector))


def is_ready(pod: Object) -> bool:
    """Whether the kubelet reports that it serves."""
    listed = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in listed)


def of(observed: Observed, namespace: str, selector: Mapping[str, str]) -> str:
    """Why pods of a set do not start, as the end of a sentence; empty if all do."""
    return among(pods(observed, namespace, selector))


def among(found: Iterable[Object]) -> str:
    """Why the first of these pods does not start."""
    for pod in found:
        for failure in failures(pod):
            name = pod["metadata"]["name"]
            return shortened(f"; pod {name!r}: {failure}", LONGEST)
    return ""


def failures(pod: Object) -> Iterator[Failure]:
    """What keeps a pod from starting, as scheduler and kubelet report it."""
    status = pod.get("status") or {}
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            reason = each.get("reason") or "Unschedulable"
            yield Failure("", reason, each.get("message") or reason)
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    for each in containers:
        yield from _wait_of(each)


def _wait_of(container: Mapping[str, Any]) -> Iterable[Failure]:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in _NORMAL:
        return
    ended = (container.get("lastState") or {}).get("terminated") or {}
    lines = (ended.get("message") or "").strip().splitlines()
    if ended and not lines:
        lines = [f"exit code {ended.get('exitCode')}"]
    detail = lines[-1] if lines else waiting.get("message", "")
    yield Failure(container["name"], reason, detail)


def by_set(pod: Object) -> Iterator[str]:
    """Index value of a pod: the labels that its set selects it by."""
    labels = pod["metadata"].get("labels") or {}
    yield _value(pod["metadata"].get("namespace", ""), labels)


def _value(namespace: str, labels: Mapping[str, str]) -> str:
    return "/".join((namespace, *(labels.get(f"app.kubernetes.io/{n}", "") for n in _NAMES)))
