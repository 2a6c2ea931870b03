from cobaltcore.api.foreign.kubernetes import NODE, SECRET
from cobaltcore.api.keystone import KIND
from cobaltcore.engine.rights import Rights, Rule, cluster_role


def verbs(rights: Rights, resource: str, *reads: object) -> list[str]:
    role = cluster_role("r", rights, [NODE])
    return next((r["verbs"] for r in role.body["rules"] if resource in r["resources"]), [])


def test_what_is_watched_may_be_read_and_nothing_else() -> None:
    assert verbs(Rights(), "nodes") == ["get", "list", "watch"]


def test_objects_that_are_served_are_neither_created_nor_deleted() -> None:
    rights = Rights(serves=(KIND,))
    assert verbs(rights, "keystones") == ["get", "list", "patch", "update", "watch"]
    assert verbs(rights, "keystones/status") == ["get", "patch", "update"]
    assert verbs(rights, "keystones/finalizers") == ["update"]


def test_what_is_created_may_be_deleted() -> None:
    assert {"create", "delete", "patch"} <= set(verbs(Rights(creates=(SECRET,)), "secrets"))


def test_everybody_may_create_events_and_further_rights_are_added() -> None:
    rights = Rights(extra=(Rule("", ("pods/exec",), ("create",)),))
    assert verbs(rights, "events") == ["create", "patch"]
    assert verbs(rights, "pods/exec") == ["create"]
