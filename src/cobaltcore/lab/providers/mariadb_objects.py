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
from cobaltcore.lab.providers.mariadb_sql import Endpoint, NotAPrivilege, SqlFailed, Statement
from cobaltcore.runtime import conditions, finalizers, status
from cobaltcore.runtime.controller import Controller, Source, itself, referrers
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Scope, Struct
from cobaltcore.runtime.store import Change

LOOK_AGAIN = timedelta(hours=10)

Address = Callable[[Object], str]


class Waiting(Exception):
    """Something else has to be there first; it is watched."""


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

    @property
    def finalizer(self) -> str:
        """The name that the real operator uses."""
        return f"{self.kind.kind.lower()}.{self.kind.group}/finalizer"


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


def service_address(service: Object) -> str:
    """Where a Service answers: its address works in pods and, in the lab, on the host."""
    return serverpod.cluster_ip(service)


class Content:
    """The controller of one kind of thing on servers."""

    def __init__(
        self, setting: provider.Setting, row: Row, *, address: Address, run: mariadb_sql.Run
    ) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._row = row
        self._address = address
        self._run = run
        informer = setting.cluster.informer(row.kind)
        informer.add_index("server", _server)
        informer.add_index("secret", _secret)
        informer.add_index("account", _account)
        self.controller = Controller(
            f"mariadb-{row.kind.kind.lower()}",
            self.reconcile,
            [
                Source(row.kind, itself),
                Source(MARIADB, referrers(self._cluster, row.kind, "server")),
                Source(
                    SECRET,
                    referrers(self._cluster, row.kind, "secret"),
                    Scope(metadata_only=True),
                ),
                *([Source(USER, self._of_account)] if row.kind is GRANT else []),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Make it true on the server, or undo it, and report."""
        live = self._cluster.informer(self._row.kind).get(key)
        if live is None:
            return None
        if live["metadata"].get("deletionTimestamp"):
            await self._clean_up(live)
            return None
        live = await finalizers.add(self._cluster, self._row.kind, live, self._row.finalizer)
        try:
            after = await self._make(live)
        except (Waiting, NotAPrivilege, ValueError) as error:
            await self._report(live, _failed(str(error)))
            return None
        except SqlFailed as error:
            await self._report(live, _failed(f"Error creating {key.name}: {error.message}"))
            interval = (live.get("spec") or {}).get("retryInterval")
            if interval is None:
                raise
            return durations.parse(str(interval))
        return after

    async def _make(self, live: Object) -> timedelta:
        spec: Any = manifest.spec_of(named(live), self._row.view)
        interval = durations.parse(spec.requeue_interval) if spec.requeue_interval else LOOK_AGAIN
        facts = Facts(await self._password(live, spec), _surplus(live, spec))
        statements = self._row.make(spec, facts)
        await mariadb_sql.perform(self._run, await self._endpoint(live), statements)
        await self._report(
            live, Condition(type="Ready", status="True", reason="Created", message="Created")
        )
        return interval

    async def _clean_up(self, live: Object) -> None:
        """Undo it unless the object says otherwise; there is nothing to undo without a server."""
        server = self._cluster.informer(MARIADB).get(_server_key(live))
        gone = server is None or server["metadata"].get("deletionTimestamp")
        keep = (live.get("spec") or {}).get("cleanupPolicy") == "Skip"
        if not (gone or keep) and finalizers.present(live, self._row.finalizer):
            try:
                spec = manifest.spec_of(named(live), self._row.view)
                statements = self._row.undo(spec)
            except (NotAPrivilege, ValueError):
                # It was never made.
                statements = []
            try:
                await mariadb_sql.perform(self._run, await self._endpoint(live), statements)
            except Waiting as error:
                await self._report(live, _failed(str(error)))
                return
        await finalizers.remove(self._cluster, self._row.kind, live, self._row.finalizer)

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
        service = self._cluster.informer(SERVICE).get(key)
        host = self._address(service) if service is not None else ""
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

    async def _report(self, live: Object, told: Condition) -> None:
        before = manifest.status_of(live, GrantStatus)
        generation = live["metadata"]["generation"]
        made = told.status == "True" and self._row.kind is GRANT
        after = GrantStatus(
            conditions=conditions.merge(
                before.conditions, [told], now=self._clock.now(), generation=generation
            ),
            current_privileges=live["spec"]["privileges"] if made else before.current_privileges,
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, self._row.kind, live, built, manager=provider.MANAGER)

    def _of_account(self, change: Change) -> Iterable[Key]:
        informer = self._cluster.informer(self._row.kind)
        for account in _account(change.latest):
            for obj in informer.find("account", account):
                yield Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


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


def _failed(message: str) -> Condition:
    return Condition(type="Ready", status="False", reason="Failed", message=message)
