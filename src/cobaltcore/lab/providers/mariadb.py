"""mariadb-operator for the lab: MariaDB with a real server, Database, User and Grant on it.

A server reads its administrator's password from a Secret whenever it starts, so a changed Secret
replaces the pod, and a server that is made anew opens the volume that an earlier one left.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.mariadb import (
    DATABASE,
    GRANT,
    MARIADB,
    USER,
    MariaDBSpec,
    MariaDBStatus,
)
from cobaltcore.engine.desired import secret
from cobaltcore.lab.providers import (
    mariadb_objects,
    mariadb_server,
    mariadb_sql,
    provider,
    serverpod,
    servers,
)
from cobaltcore.runtime import conditions
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Key, Object

READY = "Ready"
FAILED = "Failed"
STATEFUL_SET_READY = "StatefulSetReady"
STATEFUL_SET_NOT_READY = "StatefulSetNotReady"


async def _plan(
    known: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(mariadb_server.defaulted(live), MariaDBSpec)
    password = await _password(known, live, spec)
    wanted = mariadb_server.objects(live, spec, image=image, password=password, known=child)
    return servers.Plan(wanted, list(_not_served(spec)))


async def _password(known: servers.Secrets, live: Object, spec: MariaDBSpec) -> str:
    """The administrator's password, made up if the object wants that."""
    ref = spec.root_password_secret_key_ref
    key = Key(live["metadata"]["namespace"], ref.name)
    if ref.generate:
        values = {ref.key: secrets.token_urlsafe(24)}
        made = secret.secret(key, values, labels=mariadb_server.labels(live))
        found = await known.make_once(made, live)
    else:
        found = await known.read(key)
    password = secret.text(found, ref.key)
    if not password:
        raise servers.CannotServe(
            f"the administrator's password is missing: make Secret {ref.name!r} with "
            f"the key {ref.key!r}, or set rootPasswordSecretKeyRef.generate"
        )
    return password


def _not_served(spec: MariaDBSpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"{spec.replicas} replicas: the lab runs one"
    if spec.tls is not None and spec.tls.enabled:
        yield "tls: the lab's server speaks plain text"
    if spec.max_scale_ref is not None:
        yield "maxScaleRef: there is no MaxScale in the lab"


def _status(live: Object, situation: servers.Situation, now: datetime) -> MariaDBStatus:
    before = manifest.status_of(live, MariaDBStatus)
    name, generation = live["metadata"]["name"], live["metadata"]["generation"]
    told = [_readiness(situation)]
    return MariaDBStatus(
        conditions=conditions.merge(before.conditions, told, now=now, generation=generation),
        replicas=situation.ready,
        current_primary=f"{name}-0",
        current_primary_pod_index=0,
    )


def _readiness(situation: servers.Situation) -> Condition:
    if situation.problem:
        return Condition(type=READY, status="False", reason=FAILED, message=situation.problem)
    if situation.settled:
        return Condition(type=READY, status="True", reason=STATEFUL_SET_READY, message="Running")
    message = f"{situation.ready}/{situation.wanted} pods ready"
    return Condition(type=READY, status="False", reason=STATEFUL_SET_NOT_READY, message=message)


def _root_secret(obj: Object) -> Iterable[str]:
    spec = mariadb_server.defaulted(obj)["spec"]
    name = (spec["rootPasswordSecretKeyRef"] or {}).get("name")
    yield str(Key(obj["metadata"]["namespace"], str(name)))


SERVERS = servers.Definition(MARIADB, mariadb_server.NAME, _plan, _status, secrets=_root_secret)


def controllers(
    setting: provider.Setting,
    *,
    address: serverpod.Address = serverpod.cluster_ip,
    run: mariadb_sql.Run = mariadb_sql.run,
) -> Iterable[Controller]:
    """One controller of servers, and one for each kind of thing on them."""
    yield servers.Servers(setting, SERVERS).controller
    for row in mariadb_objects.TABLE:
        yield mariadb_objects.Content(setting, row, address=address, run=run).controller


PROVIDER = provider.Provider(
    "mariadb",
    (MARIADB, DATABASE, USER, GRANT),
    controllers,
    makes=servers.MAKES,
    images=("mariadb",),
)
