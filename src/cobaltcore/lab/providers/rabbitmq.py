"""RabbitMQ's operators for the lab: RabbitmqCluster with a real broker, and what is kept on it.

A broker reads its administrator's account from a Secret whenever it starts, so a changed Secret
replaces the pod, and a broker that is made anew opens the volume that an earlier one left.
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
from cobaltcore.lab.providers import (
    provider,
    rabbitmq_objects,
    rabbitmq_server,
    serverpod,
    servers,
)
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Object, key_of


async def _plan(
    known: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(live, ClusterSpec)
    made = rabbitmq_server.administrator(live, secrets.token_urlsafe(24))
    login = secret.texts(await known.make_once(made, live))
    username, password = (login.get(name, "") for name in ("username", "password"))
    if not (username and password):
        raise servers.CannotServe(
            f"Secret {made.key.name!r} has no username or no password: delete it, "
            "and it is made anew"
        )
    wanted = rabbitmq_server.objects(
        live, spec, image=image, login=(username, password), known=child
    )
    return servers.Plan(wanted, list(_not_served(spec)))


def _not_served(spec: ClusterSpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"{spec.replicas} replicas: the lab runs one"
    if spec.tls is not None and spec.tls.secret_name:
        yield "tls: the lab's broker speaks plain text"


def _status(live: Object, situation: servers.Situation, now: datetime) -> ClusterStatus:
    key, before = key_of(live), manifest.status_of(live, ClusterStatus)
    login = rabbitmq_server.login_key(key)
    reference = SecretReference(
        name=login.name, namespace=login.namespace, keys=dict(rabbitmq_server.LOGIN_KEYS)
    )
    generation = live["metadata"]["generation"]
    return ClusterStatus(
        conditions=rabbitmq_objects.merged(before.conditions, _told(situation), now=now),
        observed_generation=generation,
        binding=LocalRef(name=login.name),
        default_user=DefaultUser(
            secret_reference=reference,
            service_reference=ServiceReference(name=key.name, namespace=key.namespace),
        ),
    )


def _told(situation: servers.Situation) -> list[Condition]:
    complete = _true("AllReplicasReady", "AllPodsAreReady")
    if not situation.settled:
        counted = f"{situation.ready}/{situation.wanted} Pods ready"
        complete = _false("AllReplicasReady", "NotAllPodsReady", counted)
    available = _true("ClusterAvailable", "AtLeastOneEndpointAvailable")
    if not situation.ready:
        message = "The service has no endpoints available"
        available = _false("ClusterAvailable", "NoEndpointsAvailable", message)
    success = _true("ReconcileSuccess", "Success", "Finish reconciling")
    if situation.problem:
        success = _false("ReconcileSuccess", "Error", situation.problem)
    return [complete, available, _true("NoWarnings", "NoWarnings"), success]


def _true(type_: str, reason: str, message: str = "") -> Condition:
    return Condition(type=type_, status="True", reason=reason, message=message)


def _false(type_: str, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="False", reason=reason, message=message)


def controllers(
    setting: provider.Setting, *, address: serverpod.Address = rabbitmq_objects.management
) -> Iterable[Controller]:
    """One controller of brokers, and one for each kind of thing on them."""
    yield servers.Servers(setting, BROKERS).controller
    for row in rabbitmq_objects.TABLE:
        yield rabbitmq_objects.Topology(setting, row, address=address).controller


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
    makes=servers.MAKES,
    images=("rabbitmq",),
)
