"""Sets of pods and Jobs: whether pods are created, and the first that does not work. Pure."""

from collections.abc import Iterable

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, POD
from cobaltcore.engine.desired import job, workload
from cobaltcore.engine.diagnosis import commands, pods, webhooks
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named, named
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Object


def inspect(facts: Facts, named_: Named) -> Inspection | None:
    """A Deployment, StatefulSet or DaemonSet."""
    found = facts.get(named_.kind, named_.key)
    if found is None:
        return Inspection(_missing(named_))
    on_nodes = named_.kind == DAEMON_SET
    reached = workload.progress_on_nodes(found) if on_nodes else workload.progress(found)
    if reached.settled and (reached.wanted or on_nodes):
        return None
    if not reached.wanted and not on_nodes:
        text = f"{named_} is scaled to 0 replicas"
        scale = commands.kubectl(
            named_, "scale", str(named_.kind), named_.key.name, "--replicas=1"
        )
        return Inspection(Cause(named_, "ScaledToZero", text, scale))
    refused = _refused(facts, named_, found)
    if refused:
        text = f"{named_}: its pods are not created: {refused}"
        cause = Cause(named_, "FailedCreate", text, commands.describe(named_))
        return Inspection(cause, webhooks.called_in(facts, refused))
    text = f"{named_}: {reached.describe(named_.key.name)}"
    cause = Cause(named_, "Progressing", text, commands.describe(named_), is_symptom=True)
    return Inspection(cause, _pods(facts, found))


def inspect_job(facts: Facts, named_: Named) -> Inspection | None:
    found = facts.get(named_.kind, named_.key)
    if found is None:
        return Inspection(_missing(named_))
    own = [pod for pod in facts.of(POD, named_.key.namespace) if _is_of_job(pod, named_)]
    outcome = job.outcome(found, own)
    if outcome.done:
        return None
    command = commands.kubectl(named_, "logs", f"job/{named_.key.name}", "--all-containers")
    if outcome.failed_at is not None or outcome.message:
        text = f"{named_} failed: {outcome.message}"
        cause = Cause(named_, "JobFailed", text, command, is_symptom=True)
        return Inspection(cause, depends_on=list(pods.program_failed(outcome.message)))
    refused = facts.warning(named_, "FailedCreate")
    if refused and not own:
        text = f"{named_}: its pod is not created: {refused}"
        cause = Cause(named_, "FailedCreate", text, commands.describe(named_))
        return Inspection(cause, webhooks.called_in(facts, refused))
    cause = Cause(named_, "Running", f"{named_} is running", command, is_symptom=True)
    return Inspection(cause, [named(POD, pod) for pod in own])


def _missing(named_: Named) -> Cause:
    return Cause(
        named_, "NotFound", f"{named_} does not exist", commands.kubectl(named_, "get", "events")
    )


def _refused(facts: Facts, named_: Named, found: Object) -> str:
    """Why the controller manager cannot create pods: a quota, a webhook, a policy."""
    failure = conditions.find(conditions.of(found), "ReplicaFailure")
    if failure is not None and failure.status == "True":
        return failure.message
    if named_.kind == DEPLOYMENT or _pods(facts, found):
        return ""
    return facts.warning(named_, "FailedCreate")


def _pods(facts: Facts, found: Object) -> list[Named]:
    """Pods that the set selects, newest first: a rollout fails with the new ones."""
    selector = (found["spec"].get("selector") or {}).get("matchLabels") or {}
    own = [pod for pod in facts.of(POD, found["metadata"]["namespace"]) if _has(pod, selector)]
    return [named(POD, pod) for pod in _newest_first(own)]


def _newest_first(found: Iterable[Object]) -> list[Object]:
    return sorted(found, key=lambda o: o["metadata"].get("creationTimestamp", ""), reverse=True)


def _has(pod: Object, selector: dict[str, str]) -> bool:
    deleting = pod["metadata"].get("deletionTimestamp")
    return not deleting and selector.items() <= (pod["metadata"].get("labels") or {}).items()


def _is_of_job(pod: Object, named_: Named) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return labels.get("batch.kubernetes.io/job-name") == named_.key.name
