"""Jobs that run once per set of inputs, and what became of them. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import JOB
from cobaltcore.runtime.clock import parse_timestamp
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object

DEADLINE_SECONDS = 900


class Outcome(NamedTuple):
    """How a Job stands; `failed_at` is None while it may still succeed."""

    done: bool = False
    failed_at: datetime | None = None
    message: str = ""


def job(prefix: Key, *, template: Object, inputs: object, labels: Mapping[str, str]) -> Desired:
    """A Job named after its inputs: other inputs are another Job, the same ones never run again."""
    name = f"{prefix.name}-{digest(inputs)[:8]}"
    meta = {"name": name, "namespace": prefix.namespace, "labels": dict(labels)}
    pod = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
    spec = {"backoffLimit": 3, "activeDeadlineSeconds": DEADLINE_SECONDS, "template": pod}
    return Desired(JOB, {"metadata": meta, "spec": spec}, once=True)


def outcome(found: Object | None, pods: Iterable[Object]) -> Outcome:
    """Read a Job and the pods that it made."""
    if found is None:
        return Outcome()
    for condition in (found.get("status") or {}).get("conditions") or ():
        if condition["status"] != "True":
            continue
        if condition["type"] == "Complete":
            return Outcome(done=True, message=_last_words(pods, failed=False))
        if condition["type"] == "Failed":
            when = parse_timestamp(condition["lastTransitionTime"])
            words = _last_words(pods) or condition.get("message", "")
            return Outcome(failed_at=when, message=words)
    return Outcome(message=_last_words(pods))


def _last_words(pods: Iterable[Object], *, failed: bool = True) -> str:
    """The end of what the newest container said that failed, or succeeded."""
    newest = sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
    for pod in newest:
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = (status.get("state") or {}).get("terminated")
            if ended is not None and bool(ended.get("exitCode")) == failed:
                lines = (ended.get("message") or "").strip().splitlines()
                unsaid = f"exit code {ended['exitCode']}" if failed else ""
                return lines[-1][-300:] if lines else unsaid
    return ""
