"""Database, User and Grant: what they ask for is made true on the server they name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE
from cobaltcore.api.foreign.mariadb import (
    DATABASE,
    GRANT,
    MARIADB,
    USER,
    DatabaseSpec,
    GrantSpec,
    GrantStatus,
    MariaDBSpec,
    MariaDBStatus,
    UserSpec,
)
from cobaltcore.engine.desired import secret
from cobaltcore.lab.providers import durations, mariadb_server, mariadb_sql, provider, serverpod
from cobaltcore.lab.providers.mariadb_sql import Endpoint, Statement
from cobaltcore.lab.providers.things import Things, Waiting
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.controller import Source
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Struct, key_of
from cobaltcore.runtime.store import Change

LOOK_AGAIN = timedelta(hours=10)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a statement needs beyond the spec."""

    password: str = ""
    surplus: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A kind and what it means on a server."""

    kind: Kind
    view: type[Struct]
    make: Callable[[Any, Facts], list[Statement]]
    undo: Callable[[Any], list[Statement]]


TABLE = (
    Row(
        DATABASE,
        DatabaseSpec,
        lambda spec, facts: mariadb_sql.make_database(spec),
        mariadb_sql.drop_database,
    ),
    Row(
        USER,
        UserSpec,
        lambda spec, facts: mariadb_sql.make_user(spec, facts.password),
        mariadb_sql.drop_user,
    ),
    Row(
        GRANT,
        GrantSpec,
        lambda spec, facts: mariadb_sql.make_grant(spec, facts.surplus),
        mariadb_sql.revoke_grant,
    ),
)


class Content(Things):
    """The controller of one kind of thing on servers."""

    def __init__(
        self,
        setting: provider.Setting,
        row: Row,
        *,
        address: serverpod.Address,
        run: mariadb_sql.Run,
    ) -> None:
        self._row = row
        self._address = address
        self._run = run
        super().__init__(
            setting,
            row.kind,
            server=MARIADB,
            finalizer=f"{row.kind.kind.lower()}.{row.kind.group}/finalizer",
            indexes={"server": _server, "secret": _secret, "account": _account},
            sources=[Source(USER, self._of_account)] if row.kind is GRANT else [],
        )

    async def make(self, live: Object) -> timedelta:
        """Run the statements that make it true."""
        spec: Any = manifest.spec_of(named(live), self._row.view)
        interval = durations.parse(spec.requeue_interval) if spec.requeue_interval else LOOK_AGAIN
        facts = Facts(await self._password(live, spec), _surplus(live, spec))
        statements = self._row.make(spec, facts)
        await mariadb_sql.perform(self._run, await self._endpoint(live), statements)
        await self.report(live, "")
        return interval

    async def undo(self, live: Object) -> None:
        """Run the statements that take it back; there is nothing to undo without a server."""
        server = self._cluster.informer(MARIADB).get(_server_key(live))
        gone = server is None or server["metadata"].get("deletionTimestamp")
        if gone or (live.get("spec") or {}).get("cleanupPolicy") == "Skip":
            return
        statements = self._row.undo(manifest.spec_of(named(live), self._row.view))
        await mariadb_sql.perform(self._run, await self._endpoint(live), statements)

    async def report(self, live: Object, problem: str) -> None:
        """Tell the one condition, and of a grant what is granted."""
        before = manifest.status_of(live, GrantStatus)
        told = Condition(type="Ready", status="True", reason="Created", message="Created")
        granted = before.current_privileges
        if problem:
            told = Condition(type="Ready", status="False", reason="Failed", message=problem)
        elif self._row.kind is GRANT:
            granted = live["spec"]["privileges"]
        generation = live["metadata"]["generation"]
        after = GrantStatus(
            conditions=conditions.merge(
                before.conditions, [told], now=self._clock.now(), generation=generation
            ),
            current_privileges=granted,
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, self._row.kind, live, built, manager=provider.MANAGER)

    async def _endpoint(self, live: Object) -> Endpoint:
        key = _server_key(live)
        server = self._cluster.informer(MARIADB).get(key)
        if server is None:
            raise Waiting(f"MariaDB {str(key)!r} does not exist")
        told = manifest.status_of(server, MariaDBStatus).conditions
        if not conditions.is_true(told, "Ready", generation=server["metadata"]["generation"]):
            raise Waiting(f"MariaDB {str(key)!r} is not ready")
        spec = manifest.spec_of(mariadb_server.defaulted(server), MariaDBSpec)
        ref = spec.root_password_secret_key_ref
        found = await self._cluster.read(SECRET, Key(key.namespace, ref.name))
        host = self._address(self._cluster.informer(SERVICE).get(key))
        if not host:
            raise Waiting(f"Service {str(key)!r} has no address")
        return Endpoint(host, spec.port, secret.text(found, ref.key) or "")

    async def _password(self, live: Object, spec: Any) -> str:
        if not isinstance(spec, UserSpec):
            return ""
        ref = spec.password_secret_key_ref
        key = Key(live["metadata"]["namespace"], ref.name)
        found = secret.text(await self._cluster.read(SECRET, key), ref.key)
        if not found:
            raise Waiting(f"Secret {ref.name!r} with the key {ref.key!r} does not exist")
        return found

    def _of_account(self, change: Change) -> Iterable[Key]:
        informer = self._cluster.informer(self._row.kind)
        for account in _account(change.latest):
            for obj in informer.find("account", account):
                yield key_of(obj)


def named(obj: Object) -> Object:
    """Without a name of its own the thing on the server is called as its object."""
    return {**obj, "spec": {"name": obj["metadata"]["name"], **(obj.get("spec") or {})}}


def _server_key(obj: Object) -> Key:
    ref = (obj.get("spec") or {}).get("mariaDbRef") or {}
    return Key(str(ref.get("namespace") or obj["metadata"]["namespace"]), str(ref.get("name")))


def _server(obj: Object) -> Iterable[str]:
    yield str(_server_key(obj))


def _secret(obj: Object) -> Iterable[str]:
    ref = (obj.get("spec") or {}).get("passwordSecretKeyRef") or {}
    if ref.get("name"):
        yield str(Key(obj["metadata"]["namespace"], str(ref["name"])))


def _account(obj: Object) -> Iterable[str]:
    """The account that a User makes, or that a Grant is for."""
    spec = named(obj)["spec"]
    name = spec.get("username") or spec["name"]
    yield f"{_server_key(obj)} {name}@{spec.get('host') or '%'}"


def _surplus(live: Object, spec: Any) -> list[str]:
    if not isinstance(spec, GrantSpec):
        return []
    granted = manifest.status_of(live, GrantStatus).current_privileges
    return [each for each in granted if each not in spec.privileges]
