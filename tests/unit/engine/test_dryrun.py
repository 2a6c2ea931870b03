"""What a dry run reports: fields that differ, hidden values, restarts and interruptions."""

import base64
from typing import Any

import pytest

from cobaltcore.api.foreign import mariadb
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.cli import files
from cobaltcore.engine.dryrun import changes, impact
from cobaltcore.engine.dryrun.changes import Change
from cobaltcore.engine.redact import redactor
from cobaltcore.runtime.dryrun import Write
from cobaltcore.runtime.meta import Key, Kind, Object


def an_object(kind: Kind, name: str, **parts: Any) -> Object:
    meta = {"name": name, "namespace": "cloud", "resourceVersion": "1", **parts.pop("meta", {})}
    return {"kind": kind.kind, "metadata": meta, **parts}


def written(
    kind: Kind, before: Object | None, after: Object | None, *, predecessor: Object | None = None
) -> list[Change]:
    name = (after or before or {})["metadata"]["name"]
    outcome = "configured" if before and after else "created" if after else "deleted"
    write = Write(kind, Key("cloud", name), outcome, before, after)  # type: ignore[arg-type]
    known = {Key("cloud", name): predecessor} if predecessor else {}
    return changes.changes([write], known, lambda text: text)


def fields(kind: Kind, before: Object, after: Object) -> dict[str, tuple[str, str]]:
    (found,) = written(kind, before, after)
    return {each.path: (each.before, each.after) for each in found.fields}


def test_fields_that_differ_by_path_and_list_items_by_name() -> None:
    def pod(image: str, **more: Any) -> Object:
        containers = [{"name": "api", "image": image}, {"name": "sidecar", "image": "s"}]
        return an_object(DEPLOYMENT, "a", spec={"containers": containers, **more})

    assert fields(DEPLOYMENT, pod("i:1", replicas=1), pod("i:2", paused=True)) == {
        "spec.containers[api].image": ("i:1", "i:2"),
        "spec.replicas": ("1", "(unset)"),
        "spec.paused": ("(unset)", "true"),
    }


def test_what_the_server_sets_and_what_marks_an_applied_object_is_no_difference() -> None:
    before = an_object(SERVICE, "a", spec={"x": 1}, status={"a": 1})
    meta = {"generation": 5, "uid": "u", "annotations": {"c5c3.io/applied": "d"}}
    after = an_object(SERVICE, "a", meta=meta, spec={"x": 1}, status={"a": 2})
    (found,) = written(SERVICE, before, after)
    assert list(found.fields) == []


def test_values_of_secrets_are_hidden() -> None:
    before = an_object(SECRET, "a", data={"password": "b25l"}, type="Opaque")
    after = an_object(SECRET, "a", data={"password": "dHdv", "more": "eA=="}, type="Opaque")
    assert fields(SECRET, before, after) == {
        "data.password": ("***", "***"),
        "data.more": ("(unset)", "***"),
    }


def test_a_new_config_map_shows_the_lines_that_differ_from_its_predecessor() -> None:
    before = an_object(
        CONFIG_MAP, "nova-config-1", data={"nova.conf": "[DEFAULT]\na = 1\nb = 2\n"}
    )
    after = an_object(CONFIG_MAP, "nova-config-2", data={"nova.conf": "[DEFAULT]\na = 1\nb = 3\n"})
    (found,) = written(CONFIG_MAP, None, after, predecessor=before)
    assert list(found.lines) == ["nova.conf: - b = 2", "nova.conf: + b = 3"]


def test_an_object_that_is_created_and_deleted_again_does_not_change() -> None:
    key, obj = Key("cloud", "a"), an_object(JOB, "a")
    writes = [Write(JOB, key, "created", None, obj), Write(JOB, key, "deleted", obj, None)]
    assert changes.changes(writes, {}, str) == []


def a_set(image: str, **spec: Any) -> Object:
    labels = {"app.kubernetes.io/component": spec.pop("component", "api")}
    status = {"desiredNumberScheduled": 2}
    spec = {"template": {"image": image}, **spec}
    return an_object(DEPLOYMENT, "nova", meta={"labels": labels}, spec=spec, status=status)


@pytest.mark.parametrize(
    ("kind", "before", "after", "pods", "words"),
    [
        (DEPLOYMENT, a_set("1", replicas=3), a_set("2", replicas=3), 3, "before an old one ends"),
        (STATEFUL_SET, a_set("1", replicas=1), a_set("2", replicas=1), 1, "unavailable"),
        (STATEFUL_SET, a_set("1", replicas=3), a_set("2", replicas=3), 3, "one pod after"),
        (
            DAEMON_SET,
            a_set("1", component="openvswitch"),
            a_set("2", component="openvswitch"),
            2,
            "packets of its servers",
        ),
    ],
)
def test_a_changed_template_restarts_pods(
    kind: Kind, before: Object, after: Object, pods: int, words: str
) -> None:
    (restart,) = impact.restarts(written(kind, before, after))
    assert restart.pods == pods
    assert words in restart.impact


def test_other_replicas_restart_nothing() -> None:
    found = written(DEPLOYMENT, a_set("1", replicas=1), a_set("1", replicas=2))
    assert impact.restarts(found) == []
    assert list(impact.interruptions(found)) == []


def test_migrations_are_named_among_the_jobs() -> None:
    found = [
        *written(JOB, None, an_object(JOB, "nova-db-sync-1")),
        *written(JOB, None, an_object(JOB, "nova-ceph-2")),
        *written(JOB, an_object(JOB, "nova-db-sync-0"), None),
    ]
    assert [(each.key.name, each.is_migration) for each in impact.runs(found)] == [
        ("nova-db-sync-1", True),
        ("nova-ceph-2", False),
    ]


@pytest.mark.parametrize(
    ("kind", "before", "after", "words"),
    [
        (SERVICE, an_object(SERVICE, "nova", spec={}), None, "API at Service 'nova' is removed"),
        (DEPLOYMENT, a_set("1", replicas=2), a_set("1", replicas=0), "all of its pods end"),
        (STATEFUL_SET, a_set("1", replicas=1), a_set("2", replicas=1), "fails meanwhile"),
        (
            mariadb.MARIADB,
            an_object(mariadb.MARIADB, "db", spec={"replicas": 1}),
            an_object(mariadb.MARIADB, "db", spec={"replicas": 3}),
            "may restart it",
        ),
    ],
)
def test_interruptions_are_named(
    kind: Kind, before: Object, after: Object | None, words: str
) -> None:
    (found,) = impact.interruptions(written(kind, before, after))
    assert words in found


def test_the_merge_of_the_last_applied_file_the_new_one_and_the_live_object() -> None:
    original = {"spec": {"a": 1, "gone": {"x": 1}, "list": [1]}, "data": {"k": "v"}}
    modified = {"spec": {"a": 2, "list": [1, 2], "same": 3}}
    live = {"spec": {"a": 1, "gone": {"x": 1}, "list": [1], "same": 3, "others": 4}}
    assert files.three_way(original, modified, live) == {
        "data": None,
        "spec": {"gone": None, "a": 2, "list": [1, 2]},
    }


def test_secrets_of_the_cluster_are_hidden_wherever_they_are() -> None:
    secret = an_object(SECRET, "s", data={"k": base64.b64encode(b"open-sesame").decode()})
    redact = redactor({(SECRET, Key("cloud", "s")): secret})
    before = an_object(DEPLOYMENT, "a", spec={"x": "y"})
    after = an_object(DEPLOYMENT, "a", spec={"x": "has open-sesame in it"})
    write = Write(DEPLOYMENT, Key("cloud", "a"), "configured", before, after)
    (found,) = changes.changes([write], {}, redact)
    assert found.fields[0].after == "has *** in it"
