"""Databases of a service: created on a MariaDB of the cluster or external, then migrated. Pure."""

from collections.abc import Iterable

from cobaltcore.engine import access, configuration, jobs, readiness, shared
from cobaltcore.engine.definition import AnyScope, Result, Task
from cobaltcore.engine.desired import database
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime.meta import Desired, Key


def synced(scope: AnyScope) -> Result:
    """Create databases where a MariaDB of the cluster is used, then bring them to the release.

    That needs no Keystone, so it runs while others still work on one.
    """
    if scope.spec.database is None:
        return Result(Blocked("SpecIncomplete", "spec.database is required"))
    missing = [text for n in access.backend_needs(scope.spec) for text in access.missing(scope, n)]
    if missing:
        return Result(Waiting("WaitingForSecrets", "; ".join(missing)))
    objects = list(_objects(scope))
    shared.check(scope, shared.DATABASES, objects)
    unready = readiness.first_unready(scope.observed, objects)
    if unready:
        return Result(Waiting("WaitingForDatabase", unready), objects)
    inputs = [scope.image, scope.service.databases(scope.spec)]
    task = Task("db-sync", scope.service.migration(scope), inputs=inputs, before_keystone=True)
    objects += configuration.for_migration(scope).objects()
    ran = jobs.run_once(scope, task, running="DBSyncInProgress")
    if not isinstance(ran.verdict, Ready):
        return Result(ran.verdict, [*objects, *ran.objects], ran.removals)
    return Result(Ready("DatabaseSynced"), [*objects, *ran.objects])


def _objects(scope: AnyScope) -> Iterable[Desired]:
    block = access.required_database(scope)
    if block.cluster_ref is None:
        return
    owner = database.Owner(
        username=access.value(scope, block.secret_ref.name, "username"),
        password_secret=block.secret_ref.name,
        keep=scope.keeps_data,
        encrypted=block.tls is not None,
    )
    cluster = Key(scope.namespace, block.cluster_ref.name)
    yield database.user(cluster, scope.name, owner, scope.labels())
    for need in scope.service.databases(scope.spec):
        name = _object_name(scope.name, need.name, main=block.database)
        yield from database.objects(cluster, name, need.name, owner, scope.labels())


def _object_name(instance: str, name: str, *, main: str) -> str:
    """The main database's objects are named like the service, others after both."""
    if name == main:
        return instance
    spelled = name.replace("_", "-").lower()
    return spelled if spelled.startswith(f"{instance}-") else f"{instance}-{spelled}"
