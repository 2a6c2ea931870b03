"""mariadb-operator for the lab: MariaDB with a real server, and its Databases, Users and Grants.

A server reads its root password from a Secret at every start: a changed Secret replaces the pod,
and a recreated MariaDB opens the retained volume with the password that is valid now.
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
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Key, Object
from cobaltlab.providers import (
    mariadb_objects,
    mariadb_server,
    mariadb_sql,
    provider,
    serverpod,
    servers,
)
from cobaltlab.providers.failures import Blocked
from cobaltlab.providers.reconciler import merge_conditions

READY = "Ready"
FAILED = "Failed"
STATEFUL_SET_READY = "StatefulSetReady"
STATEFUL_SET_NOT_READY = "StatefulSetNotReady"


async def _plan(
    store: servers.Secrets, live: Object, image: str, child: Object | None
) -> servers.Plan:
    spec = manifest.spec_of(mariadb_server.defaulted(live), MariaDBSpec)
    password = await _password(store, live, spec)
    desired = mariadb_server.objects(live, spec, image=image, password=password, current=child)
    return servers.Plan(desired, list(_unsupported(spec)))


async def _password(store: servers.Secrets, live: Object, spec: MariaDBSpec) -> str:
    """The root password, generated if the spec asks for that."""
    ref = spec.root_password_secret_key_ref
    key = Key(live["metadata"]["namespace"], ref.name)
    if ref.generate:
        values = {ref.key: secrets.token_urlsafe(24)}
        desired = secret.secret(key, values, labels=mariadb_server.labels(live))
        found = await store.create_once(desired, live)
    else:
        found = await store.read(key)
    password = secret.text(found, ref.key)
    if not password:
        problem = "does not exist" if found is None else f"has no key {ref.key!r}"
        raise Blocked(
            f"Secret {ref.name!r} with the root password {problem}",
            f"create it with the key {ref.key!r} or set spec.rootPasswordSecretKeyRef.generate",
        )
    return password


def _unsupported(spec: MariaDBSpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"spec.replicas is {spec.replicas}: the lab runs 1"
    if spec.tls is not None and spec.tls.enabled and not mariadb_server.certificate(spec):
        yield "spec.tls is ignored: the lab needs spec.tls.serverCertSecretRef"
    if spec.max_scale_ref is not None:
        yield "spec.maxScaleRef is ignored: the lab has no MaxScale"


def _status(live: Object, observed: servers.Observed, now: datetime) -> MariaDBStatus:
    return MariaDBStatus(
        conditions=merge_conditions(live, [_readiness(observed)], now=now),
        replicas=observed.ready,
        current_primary=f"{live['metadata']['name']}-0",
        current_primary_pod_index=0,
    )


def _readiness(observed: servers.Observed) -> Condition:
    failure = observed.failure
    if failure is not None:
        reason = failure.reason or FAILED
        return Condition(type=READY, status="False", reason=reason, message=failure.message)
    if observed.rolled_out:
        return Condition(type=READY, status="True", reason=STATEFUL_SET_READY, message="Running")
    message = f"{observed.ready}/{observed.replicas} pods ready"
    return Condition(type=READY, status="False", reason=STATEFUL_SET_NOT_READY, message=message)


def _root_secret(obj: Object) -> Iterable[str]:
    spec = mariadb_server.defaulted(obj)["spec"]
    name = (spec["rootPasswordSecretKeyRef"] or {}).get("name")
    yield str(Key(obj["metadata"]["namespace"], str(name)))


SERVERS = servers.Definition(MARIADB, mariadb_server.NAME, _plan, _status, secrets=_root_secret)


def controllers(
    context: provider.Context,
    *,
    address: serverpod.Address = serverpod.cluster_ip,
    run: mariadb_sql.Run = mariadb_sql.run,
) -> Iterable[Controller]:
    """One controller of servers, and one for each kind of object on them."""
    yield servers.ServerReconciler(context, SERVERS).controller
    for row in mariadb_objects.TABLE:
        yield mariadb_objects.SqlReconciler(context, row, address=address, run=run).controller


PROVIDER = provider.Provider(
    "mariadb",
    (MARIADB, DATABASE, USER, GRANT),
    controllers,
    manages=servers.MANAGES,
    images=("mariadb",),
)
