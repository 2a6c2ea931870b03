"""The table: specs in, attributes of Keystone out, and back into a status."""

from typing import Any

import pytest

from cobaltcore.api.foreign import korc
from cobaltcore.runtime.meta import Object
from cobaltlab.korc import kinds
from cobaltlab.korc.kinds import BY_KIND, Inputs


def referred(name: str, id_: str, **resource: Any) -> Object:
    return {"metadata": {"name": name}, "status": {"id": id_, "resource": resource}}


def test_every_kind_has_a_row_and_the_real_finalizer() -> None:
    assert [row.finalizer for row in kinds.TABLE] == [
        "openstack.k-orc.cloud/domain",
        "openstack.k-orc.cloud/project",
        "openstack.k-orc.cloud/role",
        "openstack.k-orc.cloud/group",
        "openstack.k-orc.cloud/service",
        "openstack.k-orc.cloud/endpoint",
        "openstack.k-orc.cloud/user",
        "openstack.k-orc.cloud/applicationcredential",
        "openstack.k-orc.cloud/roleassignment",
    ]


def test_attributes_of_a_project() -> None:
    inputs = Inputs("p", {"tags": ["a"]}, {"domainRef": [referred("home", "d1")]})

    assert kinds.attributes(BY_KIND[korc.PROJECT], inputs) == {
        "name": "p",
        "description": "",
        "enabled": True,
        "tags": ["a"],
        "domain_id": "d1",
    }


def test_attributes_of_an_application_credential() -> None:
    resource = {
        "expiresAt": "2026-12-31T12:00:00+02:00",
        "unrestricted": True,
        "accessRules": [{"method": "GET", "path": "/v2", "serviceRef": "nova"}, {"path": "/x"}],
    }
    objects = {
        "userRef": [referred("nova", "u1")],
        "roleRefs": [referred("a", "r1"), referred("b", "r2")],
        "accessRules": [referred("nova", "s1", type="compute")],
    }

    found = kinds.attributes(
        BY_KIND[korc.APPLICATION_CREDENTIAL], Inputs("c", resource, objects, "value")
    )

    assert found == {
        "name": "c",
        "unrestricted": True,
        "user_id": "u1",
        "secret": "value",
        "roles": [{"id": "r1"}, {"id": "r2"}],
        "expires_at": "2026-12-31T10:00:00.000000Z",
        "access_rules": [{"method": "GET", "path": "/v2", "service": "compute"}, {"path": "/x"}],
    }


def test_only_mutable_fields_that_differ_are_changed() -> None:
    row = BY_KIND[korc.ENDPOINT]
    desired = {"interface": "public", "url": "u", "description": "d", "service_id": "s"}

    assert kinds.changes(row, desired, {**desired, "url": "v", "description": "e"}) == {"url": "u"}


def test_absent_and_empty_descriptions_are_the_same() -> None:
    row = BY_KIND[korc.ROLE]

    assert kinds.changes(row, {"name": "r", "description": ""}, {"name": "r"}) == {}


def test_order_of_tags_does_not_matter() -> None:
    row = BY_KIND[korc.PROJECT]

    assert kinds.changes(row, {"tags": ["a", "b"]}, {"tags": ["b", "a"]}) == {}


def test_filter_is_split_between_keystone_and_here() -> None:
    row = BY_KIND[korc.ENDPOINT]
    objects = {"serviceRef": [referred("nova", "s1")]}

    desired = kinds.filter_attributes(row, {"serviceRef": "nova", "url": "u"}, objects)

    assert kinds.query(row, desired) == {"service_id": "s1"}
    assert kinds.matches(desired, {"service_id": "s1", "url": "u", "interface": "public"})
    assert not kinds.matches(desired, {"service_id": "s1", "url": "v"})


def test_tags_of_a_filter_become_a_query() -> None:
    row = BY_KIND[korc.PROJECT]
    filter_ = {"name": "p", "tags": ["a", "b"], "notTagsAny": ["c"]}

    desired = kinds.filter_attributes(row, filter_, {})

    assert kinds.query(row, desired) == {"name": "p", "tags": "a,b", "not-tags-any": "c"}


def test_status_of_an_application_credential() -> None:
    live = {
        "id": "i",
        "name": "n",
        "expires_at": "2026-12-31T10:00:00.000000",
        "project_id": "p",
        "roles": [{"id": "r", "name": "member", "domain_id": None, "options": {}}],
        "access_rules": [{"id": "a", "path": "/x"}],
        "unrestricted": False,
        "secret": "never",
    }

    assert kinds.report(BY_KIND[korc.APPLICATION_CREDENTIAL], live) == {
        "name": "n",
        "expiresAt": "2026-12-31T10:00:00Z",
        "projectID": "p",
        "roles": [{"id": "r", "name": "member"}],
        "accessRules": [{"id": "a", "path": "/x"}],
        "unrestricted": False,
    }


@pytest.mark.parametrize("broken", [None, 3, {"a": 1}, [1, None]])
def test_fields_of_a_wrong_type_name_nothing(broken: Any) -> None:
    row = BY_KIND[korc.APPLICATION_CREDENTIAL]

    assert kinds.references(row, {"userRef": broken, "roleRefs": broken}) == []
    assert kinds.references(row, {"accessRules": [broken, {"serviceRef": broken}]}) == []
