"""RabbitMQ's operators for the lab: RabbitmqCluster with a real broker, and topology objects on it.

A broker reads its default user from a Secret at every start: a changed Secret replaces the pod, and
a recreated RabbitmqCluster opens the retained volume with the default user that is valid now.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.rabbitmq import (
    CLUSTER,
    PERMISSION,
    POLICY,
    USER,
    VHOST,
    ClusterSpec,
    ClusterStatus,
    DefaultUser,
    LocalRef,
    SecretReference,
    ServiceReference,
)
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Object, key_of
from cobaltlab.providers import (
    provider,
    rabbitmq_objects,
    rabbitmq_server,
    serverpod,
    servers,
)
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.reconciler import merge_conditions


async def _plan(
    store: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(live, ClusterSpec)
    generated = rabbitmq_server.default_user(live, spec, secrets.token_urlsafe(24))
    login = secret.texts(await store.create_once(generated, live))
    username, password = (login.get(name, "") for name in ("username", "password"))
    if not (username and password):
        missing = "password" if username else "username"
        raise Blocked(
            f"Secret {generated.key.name!r} has no key {missing!r}",
            "add it, or delete the Secret to have the default user generated",
        )
    desired = rabbitmq_server.objects(
        live, spec, image=image, login=(username, password), current=child
    )
    return servers.Plan(desired, list(_unsupported(spec)))


def _unsupported(spec: ClusterSpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"spec.replicas is {spec.replicas}: the lab runs 1"
    if spec.tls is not None and spec.tls.ca_secret_name:
        yield "spec.tls.caSecretName is ignored: the lab's broker checks no client certificates"


def _status(live: Object, observed: servers.Observed, now: datetime) -> ClusterStatus:
    key = key_of(live)
    login = rabbitmq_server.login_key(key)
    reference = SecretReference(
        name=login.name, namespace=login.namespace, keys=dict(rabbitmq_server.LOGIN_KEYS)
    )
    return ClusterStatus(
        conditions=merge_conditions(
            live, _conditions(observed), now=now, observes_generation=False
        ),
        observed_generation=live["metadata"]["generation"],
        binding=LocalRef(name=login.name),
        default_user=DefaultUser(
            secret_reference=reference,
            service_reference=ServiceReference(name=key.name, namespace=key.namespace),
        ),
    )


def _conditions(observed: servers.Observed) -> list[Condition]:
    all_ready = _true("AllReplicasReady", "AllPodsAreReady")
    if not observed.rolled_out:
        message = f"{observed.ready}/{observed.replicas} Pods ready"
        all_ready = _false("AllReplicasReady", "NotAllPodsReady", message)
    available = _true("ClusterAvailable", "AtLeastOneEndpointAvailable")
    if not observed.ready:
        message = "The service has no endpoints available"
        available = _false("ClusterAvailable", "NoEndpointsAvailable", message)
    success = _true("ReconcileSuccess", "Success", "Finish reconciling")
    failure = observed.failure
    if failure is not None:
        success = _false("ReconcileSuccess", failure.reason or "Error", failure.message)
    return [all_ready, available, _true("NoWarnings", "NoWarnings"), success]


def _true(type_: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type_, status="True", reason=reason, message=message)


def _false(type_: str, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="False", reason=reason, message=message)


def controllers(
    context: provider.Context, *, address: serverpod.Address = rabbitmq_objects.management
) -> Iterable[Controller]:
    """One controller of brokers, and one for each kind of topology object."""
    yield servers.ServerReconciler(context, BROKERS).controller
    for row in rabbitmq_objects.TABLE:
        yield rabbitmq_objects.TopologyReconciler(context, row, address=address).controller


BROKERS = servers.Definition(
    CLUSTER,
    rabbitmq_server.NAME,
    _plan,
    _status,
    stateful_set=rabbitmq_server.stateful_set_key,
    secrets=lambda obj: (str(rabbitmq_server.login_key(key_of(obj))),),
)
PROVIDER = provider.Provider(
    "rabbitmq",
    (CLUSTER, VHOST, USER, PERMISSION, POLICY),
    controllers,
    manages=servers.MANAGES,
    images=("rabbitmq",),
)
