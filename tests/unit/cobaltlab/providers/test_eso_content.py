import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.api.foreign.eso import SyncStatus, Template
from cobaltlab.providers import eso_content as content
from cobaltlab.providers.eso_kubernetes import secret_name
from cobaltlab.providers.eso_stores import StoreError

VALUES = {"user": b"nova", "a.b": b"dotted", "json": b'{"x": {"y": "deep"}, "n": 1}'}
LEGAL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@pytest.mark.parametrize(
    ("property_", "found"),
    [
        ("user", b"nova"),
        ("a.b", b"dotted"),
        ("json.x.y", b"deep"),
        ("json.n", b"1"),
        ("json.x", b'{"y":"deep"}'),
    ],
)
def test_property_is_found_also_inside_of_json(property_: str, found: bytes) -> None:
    assert content.selected(VALUES, property_, "key") == found


@pytest.mark.parametrize("property_", ["nothing", "user.x", "json.x.z", "json.x.y.z"])
def test_missing_property_is_named(property_: str) -> None:
    with pytest.raises(StoreError, match=f"property '{property_}' does not exist in key 'key'"):
        content.selected(VALUES, property_, "key")


def test_no_property_means_all_of_them_as_json() -> None:
    assert content.selected({"b": b"2", "a": b"1"}, None, "key") == b'{"a":"1","b":"2"}'


def test_extract_opens_the_json_of_a_property() -> None:
    assert content.extracted(VALUES, "json", "key") == {"x": b'{"y":"deep"}', "n": b"1"}
    with pytest.raises(StoreError, match="is not a JSON object"):
        content.extracted(VALUES, "user", "key")


def test_keys_become_legal_or_collide() -> None:
    assert content.valid_keys({"a/b": b"1", "c.d": b"2"}) == {"a_b": b"1", "c.d": b"2"}
    with pytest.raises(StoreError, match="collision"):
        content.valid_keys({"a/b": b"1", "a:b": b"2"})


@pytest.mark.parametrize(
    "text", ["{{ .user }}", "{{.user}}", "{{- .user -}}", '{{ index . "user" }}']
)
def test_template_fills_in_values(text: str) -> None:
    rendered = content.rendered(Template(data={"dsn": f"db://{text}@host"}), VALUES)

    assert rendered == {"dsn": b"db://nova@host"}


def test_template_merges_when_asked() -> None:
    template = Template(data={"user": "x{{ .user }}"}, merge_policy="Merge")

    assert content.rendered(template, {"user": b"u", "b": b"2"}) == {"user": b"xu", "b": b"2"}


@pytest.mark.parametrize(
    ("text", "part"),
    [("{{ .user | upper }}", "the lab supports only"), ("{{ .nobody }}", "no key 'nobody'")],
)
def test_error_of_a_template_names_the_reason(text: str, part: str) -> None:
    with pytest.raises(StoreError, match=re.escape(part)):
        content.rendered(Template(data={"a": text}), VALUES)


def test_unserved_fields_are_found_by_path() -> None:
    def live(**entry: Any) -> dict[str, Any]:
        return {"spec": {"dataFrom": [{"extract": {"key": "a"}}, entry]}}

    for harmless in ({}, {"rewrite": None}, {"decodingStrategy": "None"}):
        content.spec_of(live(**harmless), SyncStatus, ["dataFrom[].rewrite"])
    with pytest.raises(StoreError, match="is not supported"):
        content.spec_of(live(rewrite=[{}]), SyncStatus, ["dataFrom[].rewrite"])


def test_refresh_is_due_after_the_interval_and_never_for_zero() -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    status = SyncStatus(refresh_time="2026-01-01T11:30:00Z")

    assert content.refresh_due(SyncStatus(), timedelta(hours=1), now) == now
    due = content.refresh_due(status, timedelta(hours=1), now)
    assert due == now + timedelta(minutes=30)
    assert content.refresh_due(status, timedelta(), now) is None


def test_version_changes_with_annotations_and_not_with_status() -> None:
    def live(**annotations: str) -> dict[str, Any]:
        return {"metadata": {"generation": 1, "annotations": annotations}, "status": {}}

    assert content.version(live(), "s") == content.version({**live(), "status": {"a": 1}}, "s")
    assert content.version(live(), "s") != content.version(live(force="1"), "s")
    assert content.version(live(), "s") != content.version(live(), "t")


def test_valid_keys_are_their_own_names() -> None:
    assert secret_name("keystone-db") == "keystone-db"
    assert secret_name("a.b-c") == "a.b-c"


def test_path_has_a_readable_name_and_both_spellings_are_one() -> None:
    name = secret_name("kv-v2/data/openstack/k-orc/app-credential")

    assert re.fullmatch(r"kv-v2\.openstack\.k-orc\.app-credential-[0-9a-f]{10}", name)
    assert name == secret_name("kv-v2/openstack/k-orc/app-credential")
    assert name != secret_name("kv-v2.openstack.k-orc.app-credential")


@given(st.text(min_size=1, max_size=400))
def test_every_key_has_a_legal_name(key: str) -> None:
    name = secret_name(key)

    assert LEGAL.fullmatch(name)
    assert len(name) <= 253
