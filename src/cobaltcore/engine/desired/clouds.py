"""A `clouds.yaml` in a Secret: how K-ORC and the OpenStack client log in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from cobaltcore.engine.desired import secret
from cobaltcore.runtime.meta import Desired, Key, Object

FILE = "clouds.yaml"
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
    entry: dict[str, Any] = {
        "auth_type": "password",
        "auth": {
            "auth_url": login.auth_url,
            "username": login.username,
            "password": login.password,
            "project_name": login.project,
            "user_domain_id": "default",
            "project_domain_id": "default",
        },
        "region_name": login.region,
        "identity_api_version": 3,
    }
    values = {}
    if login.ca_bundle:
        entry["cacert"] = CA_BUNDLE_PATH
        values[CA_BUNDLE] = login.ca_bundle
    values[FILE] = yaml.safe_dump({"clouds": {cloud: entry}}, sort_keys=True)
    return secret.secret(key, values, labels=labels)


def entry_of(obj: Object | None, cloud: str) -> tuple[dict[str, Any], str] | None:
    """A cloud of a Secret and its CA bundle; None if there is no such cloud."""
    text = secret.text(obj, FILE)
    try:
        content = yaml.safe_load(text) if text is not None else None
    except yaml.YAMLError:
        return None
    known = content.get("clouds") if isinstance(content, dict) else None
    entry = known.get(cloud) if isinstance(known, dict) else None
    if not isinstance(entry, dict) or not isinstance(entry.get("auth"), dict):
        return None
    return entry, secret.text(obj, CA_BUNDLE) or ""
