"""Resources of any kind in Keystone: get, find, create, update, delete."""

from collections.abc import Mapping
from typing import Any, Protocol

from cobaltcore.api.foreign import korc
from cobaltlab.korc import keystone, kinds
from cobaltlab.korc.keystone import Keystone
from cobaltlab.korc.kinds import Attributes, Row

_INHERITED = "OS-INHERIT:inherited_to"


class Resources(Protocol):
    """All resources of one kind."""

    async def get(self, id_: str) -> Attributes | None: ...

    async def find(self, desired: Attributes) -> list[Attributes]: ...

    async def create(self, desired: Attributes) -> Attributes: ...

    async def update(self, live: Attributes, changes: Attributes) -> Attributes: ...

    async def delete(self, live: Attributes) -> None:
        """A missing resource is not an error."""


def resources(access: Keystone, row: Row, *, user_id: str = "") -> Resources:
    """The resources of a kind; application credentials are those of one user."""
    if row.kind == korc.ROLE_ASSIGNMENT:
        return Assignments(access)
    if row.kind == korc.APPLICATION_CREDENTIAL:
        return Collection(access, row, f"/users/{user_id}/application_credentials")
    return Collection(access, row, f"/{row.members}")


class Collection:
    """Resources that have an id and a path."""

    def __init__(self, access: Keystone, row: Row, path: str) -> None:
        self._access = access
        self._row = row
        self._path = path

    async def get(self, id_: str) -> Attributes | None:
        try:
            return self._one(await self._access.request("GET", f"{self._path}/{id_}"))
        except keystone.NotFound:
            return None

    async def find(self, desired: Attributes) -> list[Attributes]:
        rest = self._without_owner(desired)
        query = kinds.query(self._row, rest)
        found = await self._access.list(self._path, self._row.members, query)
        return [each for each in found if kinds.matches(rest, each)]

    async def create(self, desired: Attributes) -> Attributes:
        body = {self._row.member: self._without_owner(desired)}
        return self._one(await self._access.request("POST", self._path, body=body))

    async def update(self, live: Attributes, changes: Attributes) -> Attributes:
        body = {self._row.member: changes}
        path = f"{self._path}/{live['id']}"
        return self._one(await self._access.request("PATCH", path, body=body))

    async def delete(self, live: Attributes) -> None:
        try:
            await self._access.request("DELETE", f"{self._path}/{live['id']}")
        except keystone.NotFound:
            return

    def _one(self, response: Mapping[str, Any]) -> Attributes:
        found: Attributes = response[self._row.member]
        return found

    def _without_owner(self, desired: Attributes) -> Attributes:
        """The owner of an application credential is part of the path."""
        if self._row.kind != korc.APPLICATION_CREDENTIAL:
            return desired
        return {name: value for name, value in desired.items() if name != "user_id"}


class Assignments:
    """Role assignments: identified by role, actor and target."""

    def __init__(self, access: Keystone) -> None:
        self._access = access

    async def get(self, id_: str) -> Attributes | None:
        """None: an assignment has no id."""
        return None

    async def find(self, desired: Attributes) -> list[Attributes]:
        """Direct assignments, without inherited ones."""
        query = {_QUERIES[name]: str(value) for name, value in desired.items()}
        found = await self._access.list("/role_assignments", "role_assignments", query)
        return [_flat(each) for each in found if _INHERITED not in each["scope"]]

    async def create(self, desired: Attributes) -> Attributes:
        await self._access.request("PUT", _path(desired))
        return desired

    async def update(self, live: Attributes, changes: Attributes) -> Attributes:
        """An assignment has nothing to update."""
        return live

    async def delete(self, live: Attributes) -> None:
        try:
            await self._access.request("DELETE", _path(live))
        except keystone.NotFound:
            return


_QUERIES = {
    "role_id": "role.id",
    "user_id": "user.id",
    "group_id": "group.id",
    "project_id": "scope.project.id",
    "domain_id": "scope.domain.id",
}


def _flat(found: Mapping[str, Any]) -> Attributes:
    scope = found["scope"]
    parts = {
        "role_id": found["role"],
        "user_id": found.get("user"),
        "group_id": found.get("group"),
        "project_id": scope.get("project"),
        "domain_id": scope.get("domain"),
    }
    return {name: part["id"] for name, part in parts.items() if part}


def _path(desired: Attributes) -> str:
    target = _part(desired, "projects", "project_id") or _part(desired, "domains", "domain_id")
    actor = _part(desired, "users", "user_id") or _part(desired, "groups", "group_id")
    return f"{target}{actor}/roles/{desired['role_id']}"


def _part(desired: Attributes, collection: str, name: str) -> str:
    return f"/{collection}/{desired[name]}" if name in desired else ""
