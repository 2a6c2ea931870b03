"""Databases of a service: made where a server of the cluster is used, then migrated. Pure."""

from collections.abc import Iterable

from cobaltcore.engine import access, conditioned, configuration, tasks
from cobaltcore.engine.definition import Facts, Result, Task
from cobaltcore.engine.desired import database
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from cobaltcore.runtime.meta import Desired, Key


def made(facts: Facts) -> Result:
    """Have databases made where a server of the cluster is used, then bring them to the release.

    That needs no Keystone, so it is done while others still work on one.
    """
    if facts.spec.database is None:
        return Result(Blocked("SpecIncomplete", "database: unset, so nothing is started"))
    missing = [text for n in access.backend_needs(facts.spec) for text in access.lacks(facts, n)]
    if missing:
        return Result(Waiting("WaitingForSecrets", "; ".join(missing)))
    objects = list(_objects(facts))
    unready = conditioned.first_unready(facts, objects)
    if unready:
        return Result(Waiting("WaitingForDatabase", unready), objects)
    inputs = [facts.service.image(facts.spec), facts.service.databases(facts.spec)]
    task = Task("db-sync", facts.service.migration(facts), inputs=inputs, prepares=True)
    objects += configuration.preparation(facts).objects()
    ran = tasks.run_once(facts, task, running="DBSyncInProgress")
    if not isinstance(ran.verdict, Ready):
        return Result(ran.verdict, [*objects, *ran.objects], ran.remove)
    return Result(Ready("DatabaseSynced"), [*objects, *ran.objects])


def _objects(facts: Facts) -> Iterable[Desired]:
    given = facts.spec.database
    if given.cluster_ref is None:
        return
    account = database.Wanted(
        username=access.value(facts, given.secret_ref.name, "username"),
        password_secret=given.secret_ref.name,
        keep=facts.service.base(facts.spec).deletion_policy == "Retain",
    )
    cluster = Key(facts.key.namespace, given.cluster_ref.name)
    yield database.user(cluster, facts.key.name, account, facts.labels())
    for need in facts.service.databases(facts.spec):
        name = _object_name(facts.key.name, need.name, main=given.database)
        yield from database.objects(cluster, name, need.name, account, facts.labels())


def _object_name(instance: str, name: str, *, main: str) -> str:
    """The main database's objects are called like the service, others after it and themselves."""
    if name == main:
        return instance
    spelled = name.replace("_", "-").lower()
    return spelled if spelled.startswith(f"{instance}-") else f"{instance}-{spelled}"
