"""Resources in Keystone: find, make, change and remove them, whatever their kind."""

from collections.abc import Mapping
from typing import Any, Protocol

from cobaltcore.api.foreign import korc
from cobaltcore.lab.korc import keystone, kinds
from cobaltcore.lab.korc.keystone import Keystone
from cobaltcore.lab.korc.kinds import Attributes, Row

_INHERITED = "OS-INHERIT:inherited_to"


class Resources(Protocol):
    """All resources of one kind."""

    async def get(self, id_: str) -> Attributes | None:
        """The resource of that id, or None."""
        ...

    async def find(self, wanted: Attributes) -> list[Attributes]:
        """Resources that have these attributes."""
        ...

    async def create(self, wanted: Attributes) -> Attributes:
        """Make a resource."""
        ...

    async def update(self, live: Attributes, changes: Attributes) -> Attributes:
        """Change a resource; return it as it is then."""
        ...

    async def delete(self, live: Attributes) -> None:
        """Remove a resource; one that is gone is fine."""
        ...


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
        """The resource of that id, or None."""
        try:
            return self._one(await self._access.request("GET", f"{self._path}/{id_}"))
        except keystone.NotFound:
            return None

    async def find(self, wanted: Attributes) -> list[Attributes]:
        """Resources that have these attributes."""
        rest = self._without_owner(wanted)
        query = kinds.query(self._row, rest)
        found = await self._access.list(self._path, self._row.members, query)
        return [each for each in found if kinds.matches(rest, each)]

    async def create(self, wanted: Attributes) -> Attributes:
        """Make a resource."""
        body = {self._row.member: self._without_owner(wanted)}
        return self._one(await self._access.request("POST", self._path, body=body))

    async def update(self, live: Attributes, changes: Attributes) -> Attributes:
        """Change a resource; return it as it is then."""
        body = {self._row.member: changes}
        path = f"{self._path}/{live['id']}"
        return self._one(await self._access.request("PATCH", path, body=body))

    async def delete(self, live: Attributes) -> None:
        """Remove a resource; one that is gone is fine."""
        try:
            await self._access.request("DELETE", f"{self._path}/{live['id']}")
        except keystone.NotFound:
            return

    def _one(self, answer: Mapping[str, Any]) -> Attributes:
        found: Attributes = answer[self._row.member]
        return found

    def _without_owner(self, wanted: Attributes) -> Attributes:
        """The owner of an application credential is in its path."""
        if self._row.kind != korc.APPLICATION_CREDENTIAL:
            return wanted
        return {name: value for name, value in wanted.items() if name != "user_id"}


class Assignments:
    """Role assignments: no id, only who has what where."""

    def __init__(self, access: Keystone) -> None:
        self._access = access

    async def get(self, id_: str) -> Attributes | None:
        """Nothing: an assignment has no id."""
        return None

    async def find(self, wanted: Attributes) -> list[Attributes]:
        """Assignments that are made as they stand, neither inherited nor by a group."""
        query = {_QUERIES[name]: str(value) for name, value in wanted.items()}
        found = await self._access.list("/role_assignments", "role_assignments", query)
        return [_flat(each) for each in found if _INHERITED not in each["scope"]]

    async def create(self, wanted: Attributes) -> Attributes:
        """Assign a role; doing it again is the same."""
        await self._access.request("PUT", _path(wanted))
        return wanted

    async def update(self, live: Attributes, changes: Attributes) -> Attributes:
        """Nothing: an assignment is or is not."""
        return live

    async def delete(self, live: Attributes) -> None:
        """Take a role away; one that is gone is fine."""
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


def _path(wanted: Attributes) -> str:
    where = _part(wanted, "projects", "project_id") or _part(wanted, "domains", "domain_id")
    who = _part(wanted, "users", "user_id") or _part(wanted, "groups", "group_id")
    return f"{where}{who}/roles/{wanted['role_id']}"


def _part(wanted: Attributes, collection: str, name: str) -> str:
    return f"/{collection}/{wanted[name]}" if name in wanted else ""
