"""How to log in: credentials, and what Keystone returns for them. Pure."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from cobaltcore.openstack.catalog import Catalog

USED_FOR = 0.9
"""Share of its life after which a token is renewed."""


@dataclass(frozen=True, slots=True)
class ApplicationCredential:
    """An application credential: brings its user, its project and its roles."""

    id: str
    secret: str = field(repr=False)

    def __str__(self) -> str:
        return f"application credential {self.id}"

    def body(self) -> dict[str, Any]:
        """The request for a token."""
        login = {"id": self.id, "secret": self.secret}
        identity = {"methods": ["application_credential"], "application_credential": login}
        return {"auth": {"identity": identity}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """A user with a password, in a project."""

    username: str
    password: str = field(repr=False)
    project: str
    user_domain_id: str = "default"
    project_domain_id: str = "default"

    def __str__(self) -> str:
        return f"user {self.username!r}"

    def body(self) -> dict[str, Any]:
        """The request for a token."""
        user = {
            "name": self.username,
            "domain": {"id": self.user_domain_id},
            "password": self.password,
        }
        project = {"name": self.project, "domain": {"id": self.project_domain_id}}
        identity = {"methods": ["password"], "password": {"user": user}}
        return {"auth": {"identity": identity, "scope": {"project": project}}}


Credentials: TypeAlias = ApplicationCredential | Password


class Named(msgspec.Struct, frozen=True):
    """A user, project or role."""

    id: str
    name: str = ""


class Grant(msgspec.Struct, frozen=True):
    """What a token permits, as Keystone describes it."""

    issued_at: datetime
    expires_at: datetime
    user: Named
    project: Named | None = None
    roles: tuple[Named, ...] = ()
    catalog: Catalog = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A token with what it permits."""

    value: str = field(repr=False)
    grant: Grant
    received: float
    """On the monotonic clock: the clocks of this machine and of Keystone may differ."""

    def expires_soon(self, monotonic: float) -> bool:
        life = self.grant.expires_at - self.grant.issued_at
        return monotonic > self.received + life.total_seconds() * USED_FOR
