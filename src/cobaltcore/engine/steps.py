"""The steps that all services share, in order. Each owns one condition. Pure."""

from collections.abc import Iterable
from datetime import timedelta

from cobaltcore.api import base
from cobaltcore.api.blocks import Dependency
from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, ENDPOINT_SLICE, JOB, POD
from cobaltcore.engine import access, configuration, podspec
from cobaltcore.engine.definition import Facts, Result, SecretNeed, Step, Task
from cobaltcore.engine.desired import (
    certificate,
    database,
    job,
    messaging,
    names,
    secret,
    service,
    workload,
)
from cobaltcore.engine.uwsgi import is_encrypted
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Condition, Desired, Key, Kind, Object

RETRY_FAILED_JOB = timedelta(seconds=60)


def dependencies(facts: Facts) -> Result:
    """Wait for the conditions of other objects that the spec names."""
    wanted: Iterable[Dependency] = facts.spec.depends_on or ()
    for each in wanted:
        problem = _unmet(facts, each)
        if problem:
            return Result(Waiting("DependencyNotMet", problem))
    return Result(Ready("DependenciesMet"))


def secrets(facts: Facts) -> Result:
    """Wait for Secrets of others; what must not be in a ConfigMap goes into one of ours."""
    missing = [text for need in access.secret_needs(facts) for text in _lacks(facts, need)]
    if missing:
        return Result(Waiting("WaitingForSecrets", "; ".join(missing)))
    return Result(Ready("SecretsAvailable"))


def endpoint_certificate(facts: Facts) -> Result:
    """Have a certificate made for the endpoint, unless one is given."""
    tls = facts.service.base(facts.spec).tls
    if tls is None or not tls.enabled:
        return Result(Ready("NotRequired", "the endpoint speaks plain http"))
    if tls.issuer_ref is None:
        if tls.secret_ref is None:
            return Result(Blocked("IssuerMissing", "tls: set issuerRef or secretRef"))
        return Result(Ready("Given"))
    key = facts.beside(names.certificate_secret(facts.key.name))
    wanted = certificate.certificate(
        key, service=facts.key, secret=key.name, issuer=tls.issuer_ref, labels=facts.labels()
    )
    found = facts.observed.get(certmanager.CERTIFICATE, key)
    if not _is_true(found, "Ready"):
        why = _message(found, "Ready") or "not issued yet"
        return Result(Waiting("CertificatePending", f"Certificate {key.name!r}: {why}"), [wanted])
    return Result(Ready("Issued"), [wanted])


def config(facts: Facts) -> Result:
    """Render the configuration."""
    try:
        carried = configuration.carried(facts)
    except configuration.PolicyProblem as problem:
        return Result(Blocked("PolicyInvalid", f"policyOverrides: {problem}"))
    return Result(Ready("Rendered"), [carried.config_map, carried.environment])


def database_made(facts: Facts) -> Result:
    """Have databases made where a server of the cluster is used, then bring them to the release."""
    objects = list(_database_objects(facts))
    unready = _first_unready(facts, objects)
    if unready:
        return Result(Waiting("WaitingForDatabase", unready), objects)
    inputs = [facts.service.image(facts.spec), facts.service.databases(facts.spec)]
    task = Task("db-sync", facts.service.migration, inputs=inputs)
    ran = run_once(facts, task, running="DBSyncInProgress")
    if not isinstance(ran.verdict, Ready):
        return Result(ran.verdict, [*objects, *ran.objects], ran.remove)
    return Result(Ready("DatabaseSynced"), [*objects, *ran.objects])


def messaging_made(facts: Facts) -> Result:
    """Have a virtual host made where a broker of the cluster is used."""
    given = facts.spec.messaging
    if given.cluster_ref is None:
        return Result(Ready("Given", "the broker is given, nothing is made on it"))
    objects = list(
        messaging.objects(
            facts.beside(given.cluster_ref.name),
            facts.key.name,
            virtual_host=access.virtual_host(facts),
            login_secret=given.secret_ref.name,
            labels=facts.labels(),
        )
    )
    unready = _first_unready(facts, objects)
    if unready:
        return Result(Waiting("WaitingForMessaging", unready), objects)
    return Result(Ready("MessagingAvailable"), objects)


def workloads(facts: Facts) -> Result:
    """Run the pods."""
    objects: list[Desired] = []
    verdicts: list[Verdict] = []
    for each in facts.service.workloads:
        key = facts.named(each.component)
        objects += workload.deployment(
            key,
            replicas=each.replicas(facts.spec),
            selector=facts.selector(each.component),
            labels=facts.labels(each.component),
            template=podspec.template(facts, each),
        )
        ready, wanted, settled = workload.progress(facts.observed.get(DEPLOYMENT, key))
        if not settled:
            text = f"{ready}/{wanted or each.replicas(facts.spec)} pods of {key.name!r} ready"
            verdicts.append(Waiting("DeploymentProgressing", text))
    return Result(verdicts[0] if verdicts else Ready("DeploymentAvailable"), objects)


def api(facts: Facts) -> Result:
    """Give the API an address and see that somebody answers there."""
    wanted = service.service(
        facts.key,
        port=facts.service.port,
        selector=facts.selector("api"),
        labels=facts.labels("api"),
    )
    slices = facts.observed.find(ENDPOINT_SLICE, "service", str(facts.key))
    addresses = [
        endpoint
        for each in slices
        for endpoint in each.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    ]
    if not addresses:
        return Result(
            Waiting("NoEndpoint", f"no pod answers for Service {facts.key.name!r}"), [wanted]
        )
    return Result(Ready("Serving"), [wanted])


def run_once(facts: Facts, task: Task, *, running: str) -> Result:
    """Run a command of the service's image once for its inputs; `running` is the reason meanwhile."""
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
        return Result(Ready("Done"), [wanted])
    if outcome.failed_at is None:
        text = f"Job {wanted.key.name!r} runs" + (
            f"; last try: {outcome.message}" * bool(outcome.message)
        )
        return Result(Waiting(running, text), [wanted])
    since = facts.now - outcome.failed_at
    text = f"Job {wanted.key.name!r} failed: {outcome.message}"
    if since < RETRY_FAILED_JOB:
        return Result(Waiting("JobFailed", text, after=RETRY_FAILED_JOB - since), [wanted])
    return Result(Waiting("JobFailed", f"{text}; trying again"), [], [(JOB, wanted.key)])


def chain(own: tuple[Step, ...]) -> tuple[Step, ...]:
    """All steps of a service, its own ones in their place."""
    return (
        Step("DependenciesReady", dependencies),
        Step("SecretsReady", secrets),
        Step("CertificateReady", endpoint_certificate, when=is_encrypted),
        Step("ConfigReady", config),
        Step("DatabaseReady", database_made),
        Step("MessagingReady", messaging_made, when=_uses_broker),
        *own,
        Step("DeploymentReady", workloads),
        Step("APIReady", api),
    )


def _uses_broker(facts: Facts) -> bool:
    return getattr(facts.spec, "messaging", None) is not None


def _first_unready(facts: Facts, objects: Iterable[Desired]) -> str:
    for each in objects:
        found = facts.observed.get(each.kind, each.key)
        if not _is_true(found, "Ready"):
            why = _message(found, "Ready") or "not reconciled yet"
            return f"{each.kind.kind} {each.key.name!r}: {why}"
    return ""


def _unmet(facts: Facts, wanted: Dependency) -> str:
    kind = _kind_named(wanted.kind)
    if kind is None:
        return f"dependsOn: there is no kind {wanted.kind!r}"
    found = facts.observed.get(kind, facts.beside(wanted.name))
    if found is None:
        return f"{wanted.kind} {wanted.name!r} does not exist"
    generation = found["metadata"]["generation"]
    if conditions.is_true(_conditions(found), wanted.condition, generation=generation):
        return ""
    why = _message(found, wanted.condition)
    return f"{wanted.kind} {wanted.name!r} is not {wanted.condition}" + (f": {why}" if why else "")


def _kind_named(name: str) -> Kind | None:
    return next((d.kind for d in base.definitions() if d.kind.kind == name), None)


def _lacks(facts: Facts, need: SecretNeed) -> list[str]:
    found = access.secret_content(facts, need.name)
    if found is None:
        return [f"Secret {need.name!r} ({need.purpose}) does not exist"]
    return [
        f"Secret {need.name!r} ({need.purpose}) has no key {key!r}"
        for key in need.keys
        if secret.text(found, key) is None
    ]


def _database_objects(facts: Facts) -> Iterable[Desired]:
    given = facts.spec.database
    if given.cluster_ref is None:
        return
    for need in facts.service.databases(facts.spec):
        wanted = database.Wanted(
            need.name,
            username=access.value(facts, given.secret_ref.name, "username"),
            password_secret=given.secret_ref.name,
            keep=facts.service.base(facts.spec).deletion_policy == "Retain",
        )
        name = facts.key.name if need.name == given.database else need.name.replace("_", "-")
        cluster = Key(facts.key.namespace, given.cluster_ref.name)
        yield from database.objects(cluster, name, wanted, facts.labels())


def _conditions(obj: Object) -> list[Condition]:
    found = (obj.get("status") or {}).get("conditions") or ()
    return [
        Condition(
            type=each["type"],
            status=each["status"],
            message=each.get("message", ""),
            observed_generation=each.get("observedGeneration"),
        )
        for each in found
    ]


def _is_true(obj: Object | None, type_: str) -> bool:
    return obj is not None and conditions.is_true(_conditions(obj), type_)


def _message(obj: Object | None, type_: str) -> str:
    found = conditions.find(_conditions(obj), type_) if obj is not None else None
    return found.message if found else ""
