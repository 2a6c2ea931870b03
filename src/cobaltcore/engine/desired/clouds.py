"""A `clouds.yaml` in a Secret: how K-ORC and the OpenStack client log in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from cobaltcore.engine.desired import secret
from cobaltcore.runtime.meta import Desired, Key, Object

FILE = "clouds.yaml"
DOMAIN = "default"
"""ID of the domain of users and projects."""
CA_BUNDLE = "cacert"
"""Key of the CA certificates that K-ORC trusts."""
CA_BUNDLE_PATH = "/etc/openstack/cacert"
"""Where programs find them when the Secret is mounted at /etc/openstack."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password, in a project of the default domain."""

    auth_url: str
    username: str
    password: str = field(repr=False)
    project: str
    region: str
    ca_bundle: str = ""
    """CA certificates in PEM; empty for those of the system."""


def clouds(key: Key, cloud: str, login: Login, *, labels: Mapping[str, str]) -> Desired:
    """The Secret with one cloud."""
    values = {CA_BUNDLE: login.ca_bundle} if login.ca_bundle else {}
    values[FILE] = text({cloud: entry(login, ca_file=CA_BUNDLE_PATH)})
    return secret.secret(key, values, labels=labels)


def text(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """The file with these clouds."""
    whole = {"clouds": {name: dict(each) for name, each in entries.items()}}
    return yaml.safe_dump(whole, sort_keys=True)


def entry(login: Login, *, ca_file: str) -> dict[str, Any]:
    """One cloud; `ca_file`: where its client finds the CA certificates, if it needs them."""
    known: dict[str, Any] = {
        "auth_type": "password",
        "auth": {
            "auth_url": login.auth_url,
            "username": login.username,
            "password": login.password,
            "project_name": login.project,
            "user_domain_id": DOMAIN,
            "project_domain_id": DOMAIN,
        },
        "region_name": login.region,
        "identity_api_version": 3,
    }
    return known | ({"cacert": ca_file} if login.ca_bundle else {})


def entry_of(obj: Object | None, cloud: str) -> tuple[dict[str, Any], str] | None:
    """A cloud of a Secret and its CA bundle; None if there is no such cloud."""
    written = secret.text(obj, FILE)
    try:
        content = yaml.safe_load(written) if written is not None else None
    except yaml.YAMLError:
        return None
    known = content.get("clouds") if isinstance(content, dict) else None
    found = known.get(cloud) if isinstance(known, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("auth"), dict):
        return None
    return found, secret.text(obj, CA_BUNDLE) or ""
