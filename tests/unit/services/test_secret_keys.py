"""A key that a reference to a Secret names is the one that is used."""

import base64
import re
import string
from typing import Any

import pytest

from cobaltcore.api.foreign.kubernetes import DAEMON_SET, DEPLOYMENT, JOB, SECRET
from cobaltcore.engine import access, definitions
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.runtime.meta import Key
from cobaltcore.services.nova.steps import compute
from tests.support import openstack, planning

WITH_PODS = (DAEMON_SET, DEPLOYMENT, JOB)


def with_secret(obj: dict[str, Any], name: str, **texts: str) -> ServiceScope[Any]:
    """Facts in which a Secret holds nothing but these values."""
    scope = planning.scope(obj)
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    contents: Any = scope.observed.contents
    contents[SECRET, Key(planning.NAMESPACE, name)] = {"metadata": {"name": name}, "data": data}
    return scope


@pytest.mark.parametrize(
    ("kind", "field", "configuration", "section"),
    [("Nova", "metadata", "", "neutron"), ("Neutron", "metadataAgent", "agent", "DEFAULT")],
)
def test_shared_secret_of_the_metadata_api(
    kind: str, field: str, configuration: str, section: str
) -> None:
    reference = {"sharedSecretRef": {"name": "shared", "key": "proxy"}}
    scope = with_secret(
        planning.an_object(kind, **{field: reference}), "shared", proxy="shared-password"
    )
    assert [
        text for need in scope.service.secrets(scope.spec) for text in access.missing(scope, need)
    ] == []
    found = planning.secret_options(scope, configuration)[section]
    assert found["metadata_proxy_shared_secret"] == "shared-password"


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
    for kind, field, name, section in (
        ("Nova", "metadata", "", "neutron"),
        ("Neutron", "metadataAgent", "agent", "DEFAULT"),
    ):
        scope = with_secret(
            planning.an_object(kind, **{field: reference}), "shared", proxy="a$host$$"
        )
        written = planning.secret_options(scope, name)[section]["metadata_proxy_shared_secret"]
        # What oslo.config makes of it.
        assert string.Template(written).safe_substitute(host="other") == "a$host$$"


def with_shared(value: str) -> ServiceScope[Any]:
    reference = {"sharedSecretRef": {"name": "shared", "key": "proxy"}}
    return with_secret(planning.an_object("Nova", metadata=reference), "shared", proxy=value)


def test_quotes_and_spaces_around_a_secret_stay() -> None:
    """oslo.config takes away spaces and then one pair of quotes."""
    text = planning.secret_texts(planning.rendered(with_shared('"word" ')).secrets)["secrets.conf"]
    assert 'metadata_proxy_shared_secret = ""word" "\n' in text


@pytest.mark.parametrize("value", ["word\n", "a\n[DEFAULT]\ndebug = true", "a\0b"])
def test_secret_of_several_lines_is_refused(value: str) -> None:
    with pytest.raises(InputInvalid, match=r"\[neutron\] metadata_proxy_shared_secret comes from"):
        planning.rendered(with_shared(value))


@pytest.mark.parametrize("kind", sorted(each.kind.kind for each in definitions.services()))
def test_apis_look_where_the_secrets_are(kind: str) -> None:
    """A directory on the command line keeps oslo.config from looking for others."""
    scope = planning.scope(planning.an_object(kind))
    config = planning.rendered(scope)
    files = [text for name, text in config.config_map.body["data"].items() if "uwsgi" in name]
    (secrets,) = [each.path for each in config.volumes(scope.service) if each.name == "secrets"]
    assert files
    assert all(f" --config-dir {secrets}\n" in text for text in files)


@pytest.mark.parametrize("kind", sorted(each.kind.kind for each in definitions.services()))
def test_no_pod_has_a_secret_in_its_environment(kind: str) -> None:
    scope = planning.scope(planning.with_external_database(planning.an_object(kind)))
    found = planning.everything(scope)
    pods = [each.body["spec"]["template"]["spec"] for each in found if each.kind in WITH_PODS]
    containers = [c for pod in pods for c in [*pod["containers"], *pod.get("initContainers", [])]]
    assert len(containers) > 1
    assert [each["name"] for each in containers if "envFrom" in each] == []
    assert "secretKeyRef" not in str(containers)
    assert openstack.PRIVATE not in str(containers)


def test_ceph_users_have_volumes_of_their_own() -> None:
    users = ("my-user", "my.user", "My_User", "x" * 54, "X" * 54)
    keys = [{"user": each, "secretRef": {"name": "ceph"}} for each in users]
    scope = planning.scope(planning.an_object("Nova", compute={"volumeKeys": keys}))
    agents = planning.of_kind(planning.everything(scope), DAEMON_SET)
    volumes = agents["nova-libvirt-secrets"]["spec"]["template"]["spec"]["volumes"]
    found = [each["name"] for each in volumes if each["name"].startswith("ceph-key-")]
    assert len(set(found)) == len(found) == len(users)
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", each) for each in found)
