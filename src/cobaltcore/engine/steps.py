"""The steps that all services share, in order. Each owns one condition. Pure."""

import base64
from collections.abc import Iterable
from functools import partial

from cobaltcore.api import base
from cobaltcore.api.blocks import Dependency, ServiceSpec
from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.engine import (
    access,
    configcheck,
    configuration,
    databases,
    readiness,
    shared,
    uwsgi,
    workloads,
)
from cobaltcore.engine.definition import AnyScope, Result, SecretNeed, Step, Workload
from cobaltcore.engine.desired import certificate, messaging, names, secret
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime import conditions
from cobaltcore.runtime.meta import Desired, Kind

PASSWORD_BYTES = 32
EXTERNAL = "External"
"""Reason where the user brings what is otherwise created."""


def dependencies(scope: AnyScope) -> Result:
    """Wait for the conditions of other objects that the spec names."""
    for each in scope.spec.depends_on or ():
        problem = _unmet(scope, each)
        if problem:
            return Result(Waiting("DependencyNotMet", problem))
    return Result(Ready("DependenciesMet"))


def secrets(scope: AnyScope) -> Result:
    """Wait for Secrets of others, and create those that no one else provides."""
    absent = [name for name in scope.service.required if _is_unset(scope.spec, name)]
    if absent:
        fields = ", ".join(f"spec.{name}" for name in absent)
        verb = "is" if len(absent) == 1 else "are"
        return Result(Blocked("SpecIncomplete", f"{fields} {verb} required"))
    own = list(access.generated(scope))
    if lost := [need for need in own if need.encrypts_data and _is_lost(scope, need)]:
        return Result(Blocked("KeysLost", "; ".join(map(_restore, lost))))
    objects = [_random(scope, need) for need in own]
    needs = [*access.secret_needs(scope), *own]
    missing = [text for need in needs for text in access.missing(scope, need)]
    if missing:
        return Result(Waiting("WaitingForSecrets", "; ".join(missing)), objects)
    return Result(Ready("SecretsAvailable"), objects)


def endpoint_certificate(scope: AnyScope) -> Result:
    """Request a certificate for the endpoint, unless the spec names one."""
    tls = scope.spec.tls
    if tls is None or not tls.enabled:
        return Result(Ready("NotRequired", "the endpoint is plain http"))
    if tls.issuer_ref is None:
        if tls.secret_ref is None:
            return Result(Blocked("IssuerMissing", "spec.tls: set issuerRef or secretRef"))
        return Result(Ready(EXTERNAL, f"Secret {tls.secret_ref.name!r}"))
    key = scope.sibling(names.certificate_secret(scope.name))
    served = [each for each in scope.workloads if uwsgi.port(scope, each)]
    apis = [workloads.address(scope, each.component) for each in served]
    wanted = certificate.certificate(
        key,
        services=[scope.key, *(each for each in apis if each != scope.key)],
        hosts=tls.hosts or (),
        secret=key.name,
        issuer=tls.issuer_ref,
        labels=scope.labels(),
    )
    verdict = readiness.of(scope.observed, certmanager.CERTIFICATE, key)
    if not isinstance(verdict, Ready):
        return Result(Waiting("CertificatePending", verdict.message), [wanted])
    return Result(Ready("Issued"), [wanted])


def config(scope: AnyScope) -> Result:
    """Render the configuration; what users add to it is tried before programs read it."""
    objects = [each for c in configuration.everything(scope) for each in c.objects()]
    found = configcheck.checked(scope)
    return Result(found.verdict, [*objects, *found.objects], found.removals)


def virtual_hosts(scope: AnyScope) -> Result:
    """Create virtual hosts where a RabbitMQ of the cluster is used."""
    if access.required_messaging(scope).cluster_ref is None:
        return Result(Ready(EXTERNAL, "external RabbitMQ; user and virtual host must exist there"))
    objects = list(_messaging_objects(scope))
    shared.check(scope, shared.VIRTUAL_HOSTS, objects)
    unready = readiness.first_unready(scope.observed, objects)
    if unready:
        return Result(Waiting("WaitingForMessaging", unready), objects)
    return Result(Ready("MessagingAvailable"), objects)


def chain(scope: AnyScope) -> tuple[Step[ServiceSpec], ...]:
    """All steps of a service, its own ones in their place."""
    prepared = (
        Step("DependenciesReady", dependencies),
        Step("SecretsReady", secrets),
        Step("CertificateReady", endpoint_certificate, enabled_if=uwsgi.is_encrypted),
        Step("ConfigReady", config, needs=("DependenciesReady", "SecretsReady")),
        Step("DatabaseReady", databases.synced, needs=()),
        Step("MessagingReady", virtual_hosts, enabled_if=_uses_broker, needs=()),
        *scope.service.steps,
    )
    before = tuple(step.condition for step in prepared if step.gates)
    return (
        *prepared,
        *_workload_steps(scope, before),
        *scope.service.last_steps,
        Step("APIReady", workloads.apis, needs=before),
    )


def _workload_steps(scope: AnyScope, before: tuple[str, ...]) -> Iterable[Step[ServiceSpec]]:
    groups: dict[str, list[Workload]] = {}
    for each in scope.workloads:
        groups.setdefault(each.condition, []).append(each)
    for condition, group in groups.items():
        needs = {need for each in group for need in each.needs}
        run = partial(workloads.rolled_out, wanted=tuple(group))
        yield Step(condition, run, needs=(*before, *sorted(needs)))


def _is_unset(spec: ServiceSpec, name: str) -> bool:
    return name in spec.__struct_fields__ and getattr(spec, name) is None


def _uses_broker(scope: AnyScope) -> bool:
    return scope.spec.messaging is not None


def _unmet(scope: AnyScope, wanted: Dependency) -> str:
    kind = _kind_named(wanted.kind)
    if kind is None:
        return f"spec.dependsOn: there is no kind {wanted.kind!r}"
    found = scope.observed.get(kind, scope.sibling(wanted.name))
    if found is None:
        return f"{wanted.kind} {wanted.name!r} does not exist"
    generation = found["metadata"]["generation"]
    if conditions.is_true(conditions.of(found), wanted.condition, generation=generation):
        return ""
    why = readiness.message(found, wanted.condition)
    return f"{wanted.kind} {wanted.name!r} is not {wanted.condition}" + (f": {why}" if why else "")


def _kind_named(name: str) -> Kind | None:
    return next((d.kind for d in base.definitions() if d.kind.kind == name), None)


def _is_lost(scope: AnyScope, need: SecretNeed) -> bool:
    """Whether pods were created with a Secret that does not exist any more."""
    installed = scope.observed.get(DEPLOYMENT, scope.named("api")) is not None
    return installed and access.secret_content(scope, need.name) is None


def _restore(need: SecretNeed) -> str:
    """What a person can do: with a new key nothing that is stored could be read."""
    return (
        f"Secret {need.name!r} ({need.purpose}) does not exist any more, and stored data cannot be "
        "read without it. Restore it from a backup; if it is lost, get a new one with: "
        f"kubectl create secret generic {need.name}"
    )


def _random(scope: AnyScope, need: SecretNeed) -> Desired:
    keys = [key for key in need.keys if isinstance(key, str)]
    values = {k: base64.urlsafe_b64encode(scope.random(PASSWORD_BYTES)).decode() for k in keys}
    wanted = secret.secret(scope.sibling(need.name), values, labels=scope.labels())
    known = access.secret_content(scope, need.name)
    return wanted._replace(
        # An empty one is filled.
        once=known is None or bool(known.get("data")),
        kept=need.encrypts_data and scope.keeps_data,
        adopts=() if need.encrypts_data else None,
    )


def _messaging_objects(scope: AnyScope) -> Iterable[Desired]:
    block, name, labels = access.required_messaging(scope), scope.name, scope.labels()
    assert block.cluster_ref is not None  # noqa: S101 the caller has checked it
    cluster = scope.sibling(block.cluster_ref.name)
    yield messaging.user(cluster, name, block.secret_ref.name, labels)
    first = access.virtual_host(scope)
    for each in scope.service.virtual_hosts(scope.spec, first):
        child = name if each == first else each.strip("/").lower()
        yield from messaging.objects(cluster, child, virtual_host=each, user=name, labels=labels)
