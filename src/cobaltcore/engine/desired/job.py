"""Jobs that run once per set of inputs, and their outcome. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from cobaltcore.api.foreign.kubernetes import JOB
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltcore.runtime.text import ending
from cobaltcore.runtime.timestamps import parse_timestamp

DEADLINE_SECONDS = 900
LONGEST = 300


class Outcome(NamedTuple):
    """`failed_at` is None while the Job may still succeed."""

    done: bool = False
    failed_at: datetime | None = None
    message: str = ""


def key(prefix: Key, inputs: object) -> Key:
    """The name of a Job for its inputs."""
    return Key(prefix.namespace, f"{prefix.name}-{digest(inputs)[:8]}")


def has_ended(found: Object) -> bool:
    """Whether no pod of a Job runs or will run."""
    reported = outcome(found, ())
    return reported.done or reported.failed_at is not None


def job(prefix: Key, *, pod: Pod, inputs: object) -> Desired:
    """A Job named after its inputs: other inputs are another Job, the same ones never run again."""
    own = key(prefix, inputs)
    meta = {"name": own.name, "namespace": own.namespace, "labels": dict(pod.labels)}
    spec = {
        "backoffLimit": 3,
        "activeDeadlineSeconds": DEADLINE_SECONDS,
        "template": replace(pod, restart_policy="Never").template(),
    }
    return Desired(JOB, {"metadata": meta, "spec": spec}, once=True)


def outcome(found: Object | None, pods: Iterable[Object]) -> Outcome:
    """Read a Job and its pods."""
    if found is None:
        return Outcome()
    for condition in (found.get("status") or {}).get("conditions") or ():
        if condition["status"] != "True":
            continue
        if condition["type"] == "Complete":
            return Outcome(done=True, message=_termination_message(pods, failed=False))
        if condition["type"] == "Failed":
            when = parse_timestamp(condition["lastTransitionTime"])
            text = _termination_message(pods) or condition.get("message", "")
            return Outcome(failed_at=when, message=text)
    return Outcome(message=_termination_message(pods))


def _termination_message(pods: Iterable[Object], *, failed: bool = True) -> str:
    """The last line of the newest container that failed, or succeeded."""
    newest = sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
    for pod in newest:
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = (status.get("state") or {}).get("terminated")
            if ended is not None and bool(ended.get("exitCode")) == failed:
                lines = (ended.get("message") or "").strip().splitlines()
                fallback = f"exit code {ended['exitCode']}" if failed else ""
                return ending(lines[-1], LONGEST) if lines else fallback
    return ""
