"""valkey-operator for the lab: Valkey with a real server, a sentinel beside it if one is asked for.

A server reads its password from a Secret whenever it starts, so a changed Secret replaces the pod
and the binding, and a server that is made anew opens the volume that an earlier one left.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.valkey import VALKEY, ValkeySpec, ValkeyStatus
from cobaltcore.engine.desired import secret
from cobaltcore.lab.providers import provider, servers, valkey_server
from cobaltcore.runtime import conditions
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Object, key_of

READY = "Ready"
PROCESSING = "Processing"
ERROR = "Error"


async def _plan(
    known: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(live, ValkeySpec)
    key = valkey_server.password_key(key_of(live))
    values = {valkey_server.PASSWORD: secrets.token_urlsafe(24)}
    made = secret.secret(key, values, labels=valkey_server.labels(live))
    password = secret.text(await known.make_once(made, live), valkey_server.PASSWORD)
    if not password:
        raise servers.CannotServe(
            f"Secret {key.name!r} has no key {valkey_server.PASSWORD!r}: delete it, "
            "and it is made anew"
        )
    wanted = valkey_server.objects(live, spec, image=image, password=password, known=child)
    return servers.Plan(wanted, list(_not_served(spec)))


def _not_served(spec: ValkeySpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"{spec.replicas} replicas: the lab runs one"
    if spec.tls is not None and spec.tls.enabled:
        yield "tls: the lab's server speaks plain text"
    if spec.binding is not None and spec.binding.template:
        yield "binding.template: the binding has the keys that it has without one"


def _status(live: Object, situation: servers.Situation, now: datetime) -> ValkeyStatus:
    before = manifest.status_of(live, ValkeyStatus)
    told = _readiness(situation)
    found = conditions.merge(before.conditions, [told], now=now, generation=0)
    return ValkeyStatus(
        conditions=[msgspec.structs.replace(each, observed_generation=None) for each in found],
        observed_generation=live["metadata"]["generation"],
        state=told.reason,
    )


def _readiness(situation: servers.Situation) -> Condition:
    if situation.problem:
        return Condition(type=READY, status="False", reason=ERROR, message=situation.problem)
    if situation.settled:
        message = "Dependent resources are ready"
        return Condition(type=READY, status="True", reason=READY, message=message)
    message = f"{situation.ready}/{situation.wanted} pods ready"
    return Condition(type=READY, status="Unknown", reason=PROCESSING, message=message)


def controllers(setting: provider.Setting) -> Iterable[Controller]:
    """One controller of servers."""
    yield servers.Servers(setting, SERVERS).controller


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
    makes=servers.MAKES,
    images=("valkey",),
)
