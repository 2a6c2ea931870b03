"""Commands that run to completion once per input, as Jobs of the service's image. Pure."""

from datetime import timedelta

from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.engine import podfailures, podspec
from cobaltcore.engine.definition import AnyScope, Result, Task
from cobaltcore.engine.desired import job, names
from cobaltcore.engine.plan import Removal
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime.meta import Key, key_of, ownership

RETRY_FAILED_JOB = timedelta(seconds=60)


def unfinished_others(scope: AnyScope, task: Task) -> list[Removal]:
    """Runs of a task for other inputs that have not ended: one could undo what the wanted one does.

    Deleted in the foreground, they exist until their pods are gone.
    """
    wanted = _key(scope, task)
    owned = scope.observed.find(JOB, "owner", ownership(scope.live))
    return [
        Removal(JOB, key_of(each), "Foreground")
        for each in owned
        if (each["metadata"].get("labels") or {}).get(names.COMPONENT) == task.name
        and key_of(each) != wanted
        and not job.has_ended(each)
    ]


def run_once(scope: AnyScope, task: Task, *, running: str) -> Result:
    """Run a command once for its inputs; `running` is the reason meanwhile.

    When it is done the verdict's message is the termination message of the command.
    """
    wanted = job.job(
        scope.named(task.name),
        pod=podspec.job_pod(scope, task),
        inputs=_inputs(task),
    )
    pods = scope.observed.find(POD, "job", str(wanted.key))
    outcome = job.outcome(scope.observed.get(JOB, wanted.key), pods)
    if outcome.done:
        return Result(Ready("Done", outcome.message), [wanted])
    if task.refusal and outcome.message.startswith(task.refusal):
        why = outcome.message.removeprefix(task.refusal)
        return Result(Blocked(task.refusal.partition(":")[0], why), [wanted])
    if outcome.failed_at is None:
        last_try = f"; last try: {outcome.message}" if outcome.message else ""
        text = f"Job {wanted.key.name!r} is running{last_try or podfailures.among(pods)}"
        return Result(Waiting(running, text), [wanted])
    since = scope.now - outcome.failed_at
    text = f"Job {wanted.key.name!r} failed: {outcome.message}"
    if since < RETRY_FAILED_JOB:
        return Result(Waiting("JobFailed", text, after=RETRY_FAILED_JOB - since), [wanted])
    return Result(Waiting("JobFailed", f"{text}; retrying"), [], [Removal(JOB, wanted.key)])


def _inputs(task: Task) -> object:
    return [task.command, task.inputs]


def _key(scope: AnyScope, task: Task) -> Key:
    return job.key(scope.named(task.name), _inputs(task))
