"""Commands that run to their end once per input, as Jobs of the service's image. Pure."""

from datetime import timedelta

from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.engine import podspec, trouble
from cobaltcore.engine.definition import Facts, Result, Task
from cobaltcore.engine.desired import job
from cobaltcore.engine.verdict import Ready, Waiting

RETRY_FAILED_JOB = timedelta(seconds=60)


def run_once(facts: Facts, task: Task, *, running: str) -> Result:
    """Run a command once for its inputs; `running` is the reason meanwhile.

    When it is done the verdict's message is what the command left behind as its last word.
    """
    template = podspec.job_template(facts, task)
    wanted = job.job(
        facts.named(task.name),
        template=template,
        inputs=[task.command, task.inputs],
        labels=facts.labels(task.name),
    )
    pods = facts.observed.find(POD, "job", str(wanted.key))
    outcome = job.outcome(facts.observed.get(JOB, wanted.key), pods)
    if outcome.done:
        return Result(Ready("Done", outcome.message), [wanted])
    if outcome.failed_at is None:
        last_try = f"; last try: {outcome.message}" if outcome.message else ""
        text = f"Job {wanted.key.name!r} runs{last_try or trouble.among(pods)}"
        return Result(Waiting(running, text), [wanted])
    since = facts.now - outcome.failed_at
    text = f"Job {wanted.key.name!r} failed: {outcome.message}"
    if since < RETRY_FAILED_JOB:
        return Result(Waiting("JobFailed", text, after=RETRY_FAILED_JOB - since), [wanted])
    return Result(Waiting("JobFailed", f"{text}; trying again"), [], [(JOB, wanted.key)])
