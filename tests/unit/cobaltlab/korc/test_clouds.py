"""clouds.yaml in, the body of a login out."""

import pytest
import yaml

from cobaltlab.korc import clouds

AUTH = {"auth_url": "https://keystone.example.com:5000/"}


def cloud(auth: dict[str, str], **entry: object) -> clouds.Cloud:
    text = yaml.safe_dump({"clouds": {"c": {"auth": {**AUTH, **auth}, **entry}}})
    return clouds.read({"clouds.yaml": text}, "c", secret="s")


def test_password_in_a_project_by_names() -> None:
    found = cloud(
        {
            "username": "nova",
            "password": "p",
            "user_domain_name": "Users",
            "project_name": "service",
            "project_domain_id": "default",
        }
    )

    assert found.url == "https://keystone.example.com:5000/v3"
    user = {"name": "nova", "domain": {"name": "Users"}, "password": "p"}
    assert found.login == {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": "service", "domain": {"id": "default"}}},
        }
    }


@pytest.mark.parametrize(
    ("auth", "scope"),
    [
        ({"project_id": "p1"}, {"project": {"id": "p1"}}),
        ({"domain_id": "d1"}, {"domain": {"id": "d1"}}),
        ({"domain_name": "D"}, {"domain": {"name": "D"}}),
        ({"system_scope": "all"}, {"system": {"all": True}}),
        ({}, None),
    ],
)
def test_scopes(auth: dict[str, str], scope: object) -> None:
    assert cloud({"user_id": "u", "password": "p", **auth}).scope == scope


@pytest.mark.parametrize("kind", [{}, {"auth_type": "v3applicationcredential"}])
def test_application_credential_has_no_scope_of_its_own(kind: dict[str, str]) -> None:
    found = cloud({"application_credential_id": "i", "application_credential_secret": "s"}, **kind)

    credential = {"id": "i", "secret": "s"}
    identity = {"methods": ["application_credential"], "application_credential": credential}
    assert found.login == {"auth": {"identity": identity}}


def test_application_credential_by_name_needs_its_user() -> None:
    found = cloud(
        {
            "application_credential_name": "n",
            "application_credential_secret": "s",
            "username": "nova",
        }
    )

    assert found.identity["application_credential"] == {
        "name": "n",
        "secret": "s",
        "user": {"name": "nova", "domain": {"id": "default"}},
    }


def test_certificates_are_checked_unless_the_cloud_disables_that() -> None:
    assert cloud({"user_id": "u", "password": "p"}).verify
    assert not cloud({"user_id": "u", "password": "p"}, verify=False).verify


def test_another_user_of_the_same_keystone_keeps_its_certificates() -> None:
    admin = clouds.Cloud("https://k/v3", {}, ca_certificates="PEM")

    found = clouds.as_user(admin, user_id="u", password="p", project_id="x")

    assert (found.url, found.ca_certificates) == (admin.url, "PEM")
    assert found.scope == {"project": {"id": "x"}}
    assert clouds.as_user(admin, user_id="u", password="p").scope == "unscoped"


def test_no_secret_is_in_what_is_printed() -> None:
    found = cloud({"user_id": "u", "password": "hunter2"})

    assert "hunter2" not in repr(found)
    assert found.fingerprint != cloud({"user_id": "u", "password": "other"}).fingerprint


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "has no key 'clouds.yaml'"),
        ({"clouds.yaml": ""}, "has no cloud 'c'"),
        ({"clouds.yaml": "clouds: []"}, "has no cloud 'c'"),
        ({"clouds.yaml": "{hunter2"}, "is not YAML"),
        ({"clouds.yaml": "clouds: {c: {auth: {}}}"}, "has no auth.auth_url"),
        (
            {"clouds.yaml": "clouds: {c: {auth: {auth_url: u, password: hunter2}}}"},
            "has no auth.username",
        ),
        (
            {"clouds.yaml": "clouds: {c: {auth_type: token, auth: {auth_url: u}}}"},
            "auth_type 'token' is not supported",
        ),
    ],
)
def test_clouds_that_cannot_be_used(data: dict[str, str], message: str) -> None:
    with pytest.raises(clouds.CloudError) as caught:
        clouds.read(data, "c", secret="s")

    assert message in caught.value.message
    assert "hunter2" not in caught.value.message
