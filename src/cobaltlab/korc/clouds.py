"""A cloud of a `clouds.yaml`: auth URL, identity, scope. Pure: no I/O."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from cobaltcore.runtime import diff
from cobaltlab.providers.failures import Blocked

FILE = "clouds.yaml"
CA_CERTIFICATES = "cacert"
_PASSWORD = ("password", "v3password")
_APPLICATION_CREDENTIAL = ("v3applicationcredential",)


class CloudError(Blocked):
    """A clouds.yaml cannot be used; the message never quotes its content."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A Keystone and the body of the token request."""

    url: str
    """URL of the v3 API without a trailing slash."""
    identity: Mapping[str, Any] = field(repr=False)
    scope: Mapping[str, Any] | Literal["unscoped"] | None = None
    ca_certificates: str = field(default="", repr=False)
    """PEM certificates that replace the CA bundle of the system."""
    verify: bool = True

    @property
    def fingerprint(self) -> str:
        """Key of cached logins; kept in memory only."""
        return diff.digest([dataclasses.astuple(self)])

    @property
    def login(self) -> dict[str, Any]:
        auth: dict[str, Any] = {"identity": self.identity}
        if self.scope is not None:
            auth["scope"] = self.scope
        return {"auth": auth}


def read(data: Mapping[str, str], name: str, *, secret: str) -> Cloud:
    """Find a cloud in the decoded content of a Secret."""
    if FILE not in data:
        raise CloudError(f"Secret {secret!r} has no key {FILE!r}")
    entry = _entry(data[FILE], name, secret)
    auth = entry.get("auth")
    if not isinstance(auth, dict) or not isinstance(auth.get("auth_url"), str):
        raise CloudError(f"cloud {name!r} in Secret {secret!r} has no auth.auth_url")
    values = {key: str(value) for key, value in auth.items() if value is not None}
    try:
        identity, scope = _identity(values, str(entry.get("auth_type") or ""))
    except KeyError as missing:
        raise CloudError(
            f"cloud {name!r} in Secret {secret!r} has no auth.{missing.args[0]}"
        ) from None
    return Cloud(
        url=_versioned(values["auth_url"]),
        identity=identity,
        scope=scope,
        ca_certificates=data.get(CA_CERTIFICATES, ""),
        verify=entry.get("verify") is not False,
    )


def as_user(cloud: Cloud, *, user_id: str, password: str, project_id: str = "") -> Cloud:
    """The same Keystone as another user; without a project the token is unscoped."""
    user = {"id": user_id, "password": password}
    return dataclasses.replace(
        cloud,
        identity={"methods": ["password"], "password": {"user": user}},
        scope={"project": {"id": project_id}} if project_id else "unscoped",
    )


def as_application_credential(cloud: Cloud, *, id_: str, secret: str) -> Cloud:
    """The same Keystone with an application credential."""
    return dataclasses.replace(cloud, identity=_application_credential(id_, secret), scope=None)


def _entry(text: str, name: str, secret: str) -> dict[str, Any]:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        # Messages of the parser quote the text and with it passwords.
        raise CloudError(f"{FILE} in Secret {secret!r} is not YAML") from None
    clouds = content.get("clouds") if isinstance(content, dict) else None
    entry = clouds.get(name) if isinstance(clouds, dict) else None
    if not isinstance(entry, dict):
        raise CloudError(f"{FILE} in Secret {secret!r} has no cloud {name!r}")
    return entry


def _identity(
    auth: Mapping[str, str], auth_type: str
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    by_credential = "application_credential_id" in auth or "application_credential_name" in auth
    if auth_type in _APPLICATION_CREDENTIAL or (not auth_type and by_credential):
        return _credential(auth), None
    if not auth_type or auth_type in _PASSWORD:
        user = {**_named(auth, "user", "username"), "password": auth["password"]}
        return {"methods": ["password"], "password": {"user": user}}, _scope(auth)
    raise CloudError(
        f"auth_type {auth_type!r} is not supported",
        hint="use password or v3applicationcredential",
    )


def _credential(auth: Mapping[str, str]) -> Mapping[str, Any]:
    secret = auth["application_credential_secret"]
    if "application_credential_id" in auth:
        return _application_credential(auth["application_credential_id"], secret)
    credential = {
        "name": auth["application_credential_name"],
        "secret": secret,
        "user": _named(auth, "user", "username"),
    }
    return {"methods": ["application_credential"], "application_credential": credential}


def _application_credential(id_: str, secret: str) -> Mapping[str, Any]:
    credential = {"id": id_, "secret": secret}
    return {"methods": ["application_credential"], "application_credential": credential}


def _scope(auth: Mapping[str, str]) -> Mapping[str, Any] | None:
    if auth.get("system_scope"):
        return {"system": {"all": True}}
    if "project_id" in auth or "project_name" in auth:
        return {"project": _named(auth, "project", "project_name")}
    if "domain_id" in auth:
        return {"domain": {"id": auth["domain_id"]}}
    if "domain_name" in auth:
        return {"domain": {"name": auth["domain_name"]}}
    return None


def _named(auth: Mapping[str, str], prefix: str, name: str) -> dict[str, Any]:
    """A user or project by id, or by name and domain."""
    if f"{prefix}_id" in auth:
        return {"id": auth[f"{prefix}_id"]}
    domain = {"id": auth.get("default_domain_id") or auth.get("default_domain") or "default"}
    if f"{prefix}_domain_id" in auth:
        domain = {"id": auth[f"{prefix}_domain_id"]}
    elif f"{prefix}_domain_name" in auth:
        domain = {"name": auth[f"{prefix}_domain_name"]}
    return {"name": auth[name], "domain": domain}


def _versioned(url: str) -> str:
    bare = url.rstrip("/")
    return bare if bare.endswith("/v3") else f"{bare}/v3"
