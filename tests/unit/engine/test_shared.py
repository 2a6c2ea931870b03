"""A database or virtual host of one object is not used, and later deleted, by another one."""

from datetime import timedelta
from typing import Any

import pytest

from cobaltcore.api.foreign import mariadb, rabbitmq
from cobaltcore.engine import databases, shared, steps
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.desired import names
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.verdict import DependencyPending, Waiting
from cobaltcore.runtime.meta import Kind, Object, key_of
from tests.support import planning

CREATED = "2026-01-01T00:00:00Z"


def a_database(
    name: str, *, database: object = "glance", instance: str = "other", created: str = CREATED
) -> tuple[Kind, Object]:
    return mariadb.DATABASE, {
        "metadata": {
            "name": name,
            "namespace": planning.NAMESPACE,
            "creationTimestamp": created,
            "labels": names.labels("glance", instance),
        },
        "spec": {"mariaDbRef": {"name": "mariadb"}, "name": database},
    }


def by_hand(name: str) -> tuple[Kind, Object]:
    kind, found = a_database(name)
    labels = {"app.kubernetes.io/managed-by": "administrator"}
    return kind, {**found, "metadata": {**found["metadata"], "labels": labels}}


def a_virtual_host(name: str, virtual_host: str) -> tuple[Kind, Object]:
    reference = {"name": "rabbitmq"}
    _, found = a_database(name)
    spec = {"name": virtual_host, "rabbitmqClusterReference": reference}
    return rabbitmq.VHOST, {**found, "spec": spec}


def scope_of(kind: str, *others: tuple[Kind, Object], **changes: Any) -> ServiceScope[Any]:
    scope = planning.scope(planning.an_object(kind, **changes), *others)
    known = {(each, key_of(obj)): obj for each, obj in others}
    observed = Observed(
        lambda kind, key: known.get((kind, key)),
        scope.observed.select,
        lambda kind, namespace: [obj for each, obj in others if each == kind],
        scope.observed.contents,
    )
    return ServiceScope(
        service=scope.service,
        live=scope.live,
        resource=scope.resource,
        observed=observed,
        now=scope.now,
        random=scope.random,
    )


def test_database_of_another_object_is_left_to_it() -> None:
    with pytest.raises(DependencyPending) as found:
        databases.synced(scope_of("Glance", a_database("first")))

    assert found.value.verdict == Waiting(
        "DatabaseInUse",
        "database 'glance' belongs to Database 'first' of glance 'other'; "
        "choose another name in spec.database",
        after=timedelta(minutes=1),
    )


def test_of_two_that_exist_the_older_one_has_the_database() -> None:
    own = a_database("glance", instance="glance", created="2026-01-02T00:00:00Z")
    older, newer = a_database("first"), a_database("second", created="2026-01-03T00:00:00Z")

    with pytest.raises(DependencyPending, match="belongs to Database 'first'"):
        databases.synced(scope_of("Glance", own, older))
    assert databases.synced(scope_of("Glance", own, newer)).verdict.reason != "DatabaseInUse"


@pytest.mark.parametrize(
    "other",
    [
        a_database("first", database="another"),
        a_database("first", database=["glance"]),
        a_database("former", instance="glance"),
        by_hand("prepared"),
    ],
    ids=["other name", "malformed", "own", "by hand"],
)
def test_other_databases_are_in_nobodys_way(other: tuple[Kind, Object]) -> None:
    assert databases.synced(scope_of("Glance", other)).verdict.reason != "DatabaseInUse"


def test_virtual_host_of_another_object_is_left_to_it() -> None:
    cells = [{"name": "one"}, {"name": "two"}]
    scope = scope_of("Nova", a_virtual_host("theirs", "nova-two"), cells=cells)

    with pytest.raises(DependencyPending, match="'nova-two' belongs to Vhost 'theirs'") as found:
        steps.virtual_hosts(scope)

    assert found.value.verdict.reason == "VirtualHostInUse"


def test_databases_whose_objects_would_have_one_name_are_reported() -> None:
    cells = [{"name": "one"}, {"name": "a", "database": "A_b"}, {"name": "b", "database": "a_b"}]
    scope = scope_of("Nova", cells=cells)

    with pytest.raises(
        DependencyPending, match="'A_b' and 'a_b' would both be Database 'nova-a-b'"
    ):
        databases.synced(scope)


def test_what_is_shared_is_known_by_server_and_name() -> None:
    _, found = a_database("first")
    assert shared.DATABASES.place_of(found) == ("mariadb", "glance")
