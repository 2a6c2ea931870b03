"""A key that a reference to a Secret names is the one that is used."""

import base64
import re
import string
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, SECRET
from cobaltcore.engine import access
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.runtime.meta import Key
from cobaltcore.services.nova.steps import compute
from tests.support import planning


def with_secret(obj: dict[str, Any], name: str, **texts: str) -> ServiceScope[Any]:
    """Facts in which a Secret holds nothing but these values."""
    scope = planning.scope(obj)
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    contents: Any = scope.observed.contents
    contents[SECRET, Key(planning.NAMESPACE, name)] = {"metadata": {"name": name}, "data": data}
    return scope


@pytest.mark.parametrize(
    ("kind", "field", "configuration", "variable"),
    [
        ("Nova", "metadata", "", "OS_NEUTRON__METADATA_PROXY_SHARED_SECRET"),
        ("Neutron", "metadataAgent", "agent", "OS_DEFAULT__METADATA_PROXY_SHARED_SECRET"),
    ],
)
def test_shared_secret_of_the_metadata_api(
    kind: str, field: str, configuration: str, variable: str
) -> None:
    reference = {"sharedSecretRef": {"name": "shared", "key": "proxy"}}
    scope = with_secret(
        planning.an_object(kind, **{field: reference}), "shared", proxy="shared-password"
    )
    assert [
        text for need in scope.service.secrets(scope.spec) for text in access.missing(scope, need)
    ] == []
    environment = planning.rendered(scope, configuration).environment
    assert planning.secret_texts(environment)[variable] == "shared-password"


def test_missing_key_is_named() -> None:
    reference = {"sharedSecretRef": {"name": "shared", "key": "proxy"}}
    scope = with_secret(
        planning.an_object("Nova", metadata=reference), "shared", other="shared-password"
    )
    lacking = [
        text for n in scope.service.secrets(scope.spec) for text in access.missing(scope, n)
    ]
    assert lacking == ["Secret 'shared' (metadata) has no key 'proxy'"]


def test_key_of_a_ceph_user_on_the_hypervisors() -> None:
    keys = [{"user": "cinder", "secretRef": {"name": "ceph", "key": "volumes"}}]
    scope = planning.scope(planning.an_object("Nova", compute={"volumeKeys": keys}))
    agents = planning.of_kind(planning.everything(scope), DAEMON_SET)
    assert "/etc/ceph-keys/cinder/volumes" in str(agents["nova-libvirt-secrets"])
    assert {need.name: need.keys for need in compute.needs(scope.spec)}["ceph"] == (("volumes",),)


def test_ca_bundle_of_keystone() -> None:
    obj = planning.an_object("Placement", keystone__caSecretRef={"name": "trust", "key": "root"})
    scope = planning.scope(obj)
    pod = planning.of_kind(planning.everything(scope), DEPLOYMENT)["placement-api"]
    volumes = pod["spec"]["template"]["spec"]["volumes"]
    (bundle,) = [each["secret"] for each in volumes if each["name"] == "ca"]
    assert bundle["items"] == [{"key": "root", "path": "ca.crt"}]
    assert ("trust", ("root",)) in [(n.name, n.keys) for n in access.secret_needs(scope)]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", "has an empty key 'password'"),
        ("Cg==", "has an empty key 'password'"),
        ("/w==", "has a key 'password' that is not text in UTF-8"),
    ],
)
def test_unusable_value_is_named(value: str, fault: str) -> None:
    scope = planning.scope(planning.an_object("Placement"))
    login = scope.spec.database.secret_ref.name
    scope.observed.contents[SECRET, Key(planning.NAMESPACE, login)]["data"]["password"] = value
    lacking = [text for n in access.backend_needs(scope.spec) for text in access.missing(scope, n)]
    assert lacking == [f"Secret {login!r} (database login) {fault}"]


def test_other_binary_keys_of_a_secret_do_no_harm() -> None:
    scope = planning.scope(planning.an_object("Placement"))
    login = scope.spec.database.secret_ref.name
    scope.observed.contents[SECRET, Key(planning.NAMESPACE, login)]["data"]["keystore"] = "/w=="
    assert [t for n in access.secret_needs(scope) for t in access.missing(scope, n)] == []


def test_dollar_in_a_secret_is_no_reference_to_another_option() -> None:
    reference = {"sharedSecretRef": {"name": "shared", "key": "proxy"}}
    for kind, field, name, variable in (
        ("Nova", "metadata", "", "OS_NEUTRON__METADATA_PROXY_SHARED_SECRET"),
        ("Neutron", "metadataAgent", "agent", "OS_DEFAULT__METADATA_PROXY_SHARED_SECRET"),
    ):
        scope = with_secret(
            planning.an_object(kind, **{field: reference}), "shared", proxy="a$host$$"
        )
        written = planning.secret_texts(planning.rendered(scope, name).environment)[variable]
        # What oslo.config makes of it.
        assert string.Template(written).safe_substitute(host="other") == "a$host$$"


def test_ceph_users_have_volumes_of_their_own() -> None:
    users = ("my-user", "my.user", "My_User", "x" * 54, "X" * 54)
    keys = [{"user": each, "secretRef": {"name": "ceph"}} for each in users]
    scope = planning.scope(planning.an_object("Nova", compute={"volumeKeys": keys}))
    agents = planning.of_kind(planning.everything(scope), DAEMON_SET)
    volumes = agents["nova-libvirt-secrets"]["spec"]["template"]["spec"]["volumes"]
    found = [each["name"] for each in volumes if each["name"].startswith("ceph-key-")]
    assert len(set(found)) == len(found) == len(users)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", each) for each in found)
