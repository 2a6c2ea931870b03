"""valkey-operator for the lab: Valkey with a real server, and with a Sentinel sidecar if enabled.

A server reads its password from a Secret at every start: a changed Secret replaces the pod and the
binding, and a recreated Valkey opens the retained volume with the password that is valid now.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.valkey import VALKEY, ValkeySpec, ValkeyStatus
from cobaltcore.engine.desired import secret
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Object, key_of
from cobaltlab.providers import provider, servers, valkey_server
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.reconciler import merge_conditions

READY = "Ready"
PROCESSING = "Processing"
ERROR = "Error"


async def _plan(
    store: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(live, ValkeySpec)
    key = valkey_server.password_key(key_of(live))
    values = {valkey_server.PASSWORD: secrets.token_urlsafe(24)}
    generated = secret.secret(key, values, labels=valkey_server.labels(live))
    password = secret.text(await store.create_once(generated, live), valkey_server.PASSWORD)
    if not password:
        raise Blocked(
            f"Secret {key.name!r} has no key {valkey_server.PASSWORD!r}",
            "add it, or delete the Secret to have a password generated",
        )
    desired = valkey_server.objects(live, spec, image=image, password=password, current=child)
    return servers.Plan(desired, list(_unsupported(spec)))


def _unsupported(spec: ValkeySpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"spec.replicas is {spec.replicas}: the lab runs 1"
    if spec.tls is not None and spec.tls.enabled:
        yield "spec.tls is ignored: the lab's server has no TLS"
    if spec.binding is not None and spec.binding.template:
        yield "spec.binding.template is ignored: the binding has the default keys"


def _status(live: Object, observed: servers.Observed, now: datetime) -> ValkeyStatus:
    ready = _readiness(observed)
    return ValkeyStatus(
        conditions=merge_conditions(live, [ready], now=now, observes_generation=False),
        observed_generation=live["metadata"]["generation"],
        state=ERROR if observed.failure else ready.reason,
    )


def _readiness(observed: servers.Observed) -> Condition:
    failure = observed.failure
    if failure is not None:
        reason = failure.reason or ERROR
        return Condition(type=READY, status="False", reason=reason, message=failure.message)
    if observed.rolled_out:
        message = "Dependent resources are ready"
        return Condition(type=READY, status="True", reason=READY, message=message)
    message = f"{observed.ready}/{observed.replicas} pods ready"
    return Condition(type=READY, status="Unknown", reason=PROCESSING, message=message)


def controllers(context: provider.Context) -> Iterable[Controller]:
    yield servers.ServerReconciler(context, SERVERS).controller


SERVERS = servers.Definition(
    VALKEY,
    valkey_server.NAME,
    _plan,
    _status,
    stateful_set=valkey_server.stateful_set_key,
    secrets=lambda obj: (str(valkey_server.password_key(key_of(obj))),),
)
PROVIDER = provider.Provider(
    "valkey",
    (VALKEY,),
    controllers,
    manages=servers.MANAGES,
    images=("valkey",),
)
