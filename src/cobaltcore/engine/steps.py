"""The steps that all services share, in order. Each owns one condition. Pure."""

import base64
from collections.abc import Iterable
from functools import partial

from cobaltcore.api import base
from cobaltcore.api.blocks import Dependency
from cobaltcore.api.foreign import certmanager
from cobaltcore.engine import access, conditioned, configuration, databases, running
from cobaltcore.engine.definition import Facts, NotYet, Result, SecretNeed, Step, Workload
from cobaltcore.engine.desired import certificate, messaging, names, secret
from cobaltcore.engine.uwsgi import is_encrypted
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Desired, Kind

PASSWORD_BYTES = 32
BLOCKS = ("database", "messaging", "keystone")
"""Parts of a spec without which a service that knows them cannot run."""


def dependencies(facts: Facts) -> Result:
    """Wait for the conditions of other objects that the spec names."""
    wanted: Iterable[Dependency] = facts.spec.depends_on or ()
    for each in wanted:
        problem = _unmet(facts, each)
        if problem:
            return Result(Waiting("DependencyNotMet", problem))
    return Result(Ready("DependenciesMet"))


def secrets(facts: Facts) -> Result:
    """Wait for Secrets of others, and make those that nobody else provides."""
    unset = [each for each in BLOCKS if getattr(facts.spec, each, facts) is None]
    if unset:
        return Result(
            Blocked("SpecIncomplete", f"{', '.join(unset)}: unset, so nothing is started")
        )
    own = list(facts.service.passwords(facts.key.name, facts.spec))
    objects = [_random(facts, need) for need in own]
    missing = [text for n in access.secret_needs(facts) for text in access.lacks(facts, n)]
    missing += [text for need in own for text in access.lacks(facts, need)]
    if missing:
        return Result(Waiting("WaitingForSecrets", "; ".join(missing)), objects)
    return Result(Ready("SecretsAvailable"), objects)


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
    apis = [running.address(facts, each.component) for each in facts.workloads() if each.module]
    wanted = certificate.certificate(
        key,
        service=facts.key,
        others=[each for each in apis if each != facts.key],
        secret=key.name,
        issuer=tls.issuer_ref,
        labels=facts.labels(),
    )
    found = facts.observed.get(certmanager.CERTIFICATE, key)
    if not conditioned.is_true(found, "Ready"):
        why = conditioned.message(found, "Ready") or "not issued yet"
        return Result(Waiting("CertificatePending", f"Certificate {key.name!r}: {why}"), [wanted])
    return Result(Ready("Issued"), [wanted])


def config(facts: Facts) -> Result:
    """Render the configuration."""
    try:
        objects = [each for c in configuration.everything(facts) for each in c.objects()]
    except configuration.PolicyProblem as problem:
        return Result(Blocked("PolicyInvalid", f"policyOverrides: {problem}"))
    except NotYet as pending:
        return Result(Waiting(pending.reason, str(pending)))
    return Result(Ready("Rendered"), objects)


def messaging_made(facts: Facts) -> Result:
    """Have virtual hosts made where a broker of the cluster is used."""
    given = facts.spec.messaging
    if given.cluster_ref is None:
        return Result(Ready("Given", "the broker is given, nothing is made on it"))
    objects = list(_messaging_objects(facts))
    unready = conditioned.first_unready(facts, objects)
    if unready:
        return Result(Waiting("WaitingForMessaging", unready), objects)
    return Result(Ready("MessagingAvailable"), objects)


def chain(facts: Facts) -> tuple[Step, ...]:
    """All steps of a service, its own ones in their place."""
    prepared = (
        Step("DependenciesReady", dependencies),
        Step("SecretsReady", secrets),
        Step("CertificateReady", endpoint_certificate, when=is_encrypted),
        Step("ConfigReady", config, needs=("DependenciesReady", "SecretsReady")),
        Step("DatabaseReady", databases.made, needs=()),
        Step("MessagingReady", messaging_made, when=_uses_broker, needs=()),
        *facts.service.steps,
    )
    before = tuple(step.condition for step in prepared if step.gates)
    return (
        *prepared,
        *_workload_steps(facts, before),
        *facts.service.last_steps,
        Step("APIReady", running.apis, needs=before),
    )


def _workload_steps(facts: Facts, before: tuple[str, ...]) -> Iterable[Step]:
    groups: dict[str, list[Workload]] = {}
    for each in facts.workloads():
        groups.setdefault(each.condition, []).append(each)
    for condition, group in groups.items():
        needs = {need for each in group for need in each.needs}
        run = partial(running.workloads, wanted=tuple(group))
        yield Step(condition, run, needs=(*before, *sorted(needs)))


def _uses_broker(facts: Facts) -> bool:
    return getattr(facts.spec, "messaging", None) is not None


def _unmet(facts: Facts, wanted: Dependency) -> str:
    kind = _kind_named(wanted.kind)
    if kind is None:
        return f"dependsOn: there is no kind {wanted.kind!r}"
    found = facts.observed.get(kind, facts.beside(wanted.name))
    if found is None:
        return f"{wanted.kind} {wanted.name!r} does not exist"
    generation = found["metadata"]["generation"]
    if conditions.is_true(conditioned.told(found), wanted.condition, generation=generation):
        return ""
    why = conditioned.message(found, wanted.condition)
    return f"{wanted.kind} {wanted.name!r} is not {wanted.condition}" + (f": {why}" if why else "")


def _kind_named(name: str) -> Kind | None:
    return next((d.kind for d in base.definitions() if d.kind.kind == name), None)


def _random(facts: Facts, need: SecretNeed) -> Desired:
    keys = [key for key in need.keys if isinstance(key, str)]
    made = {k: base64.urlsafe_b64encode(facts.random(PASSWORD_BYTES)).decode() for k in keys}
    wanted = secret.secret(facts.beside(need.name), made, labels=facts.labels())
    return wanted._replace(once=True)


def _messaging_objects(facts: Facts) -> Iterable[Desired]:
    given, name, labels = facts.spec.messaging, facts.key.name, facts.labels()
    cluster = facts.beside(given.cluster_ref.name)
    yield messaging.user(cluster, name, given.secret_ref.name, labels)
    first = access.virtual_host(facts)
    for each in facts.service.virtual_hosts(facts.spec, first):
        child = name if each == first else each.strip("/").lower()
        yield from messaging.objects(cluster, child, virtual_host=each, user=name, labels=labels)
