"""The reconciler of Database, User and Grant: SQL on the MariaDB that they name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

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
    UserSpec,
)
from cobaltcore.engine.desired import secret
from cobaltcore.runtime import conditions
from cobaltcore.runtime.controller import Source
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, Struct, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.providers import mariadb_server, mariadb_sql, serverpod
from cobaltlab.providers.failures import Waiting
from cobaltlab.providers.mariadb_sql import Endpoint, Statement
from cobaltlab.providers.provider import Context
from cobaltlab.providers.reconciler import is_deleting
from cobaltlab.providers.server_objects import ServerObjectReconciler, parsed_duration

REQUEUE_INTERVAL = timedelta(hours=10)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What statements need beyond the spec."""

    password: str = ""
    surplus: Sequence[str] = ()
    """Privileges that were granted by an earlier spec."""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind and its statements."""

    kind: Kind
    spec: type[Struct]
    create: Callable[[Any, Inputs], list[Statement]]
    drop: Callable[[Any], list[Statement]]


TABLE = (
    Row(
        DATABASE,
        DatabaseSpec,
        lambda spec, inputs: mariadb_sql.create_database(spec),
        mariadb_sql.drop_database,
    ),
    Row(
        USER,
        UserSpec,
        lambda spec, inputs: mariadb_sql.create_user(spec, inputs.password),
        mariadb_sql.drop_user,
    ),
    Row(
        GRANT,
        GrantSpec,
        lambda spec, inputs: mariadb_sql.grant(spec, inputs.surplus),
        mariadb_sql.revoke_grant,
    ),
)


class SqlReconciler(ServerObjectReconciler):
    """Reconciles one row of the table."""

    failed_reason = "Failed"

    def __init__(
        self,
        context: Context,
        row: Row,
        *,
        address: serverpod.Address,
        run: mariadb_sql.Run,
    ) -> None:
        self._row = row
        self._address = address
        self._run = run
        super().__init__(
            context,
            row.kind,
            server=MARIADB,
            finalizer=f"{row.kind.kind.lower()}.{row.kind.group}/finalizer",
            indexes={"server": _server, "secret": _secret, "account": _account},
            sources=[Source(USER, self._of_account)] if row.kind is GRANT else [],
        )

    async def create(self, live: Object) -> timedelta:
        spec: Any = manifest.spec_of(named(live), self._row.spec)
        interval = REQUEUE_INTERVAL
        if spec.requeue_interval:
            interval = parsed_duration("spec.requeueInterval", spec.requeue_interval)
        inputs = Inputs(await self._password(live, spec), _surplus(live, spec))
        statements = self._row.create(spec, inputs)
        await mariadb_sql.execute(self._run, await self._endpoint(live), statements)
        await self._report_created(live)
        return interval

    async def drop(self, live: Object) -> None:
        server = self._cluster.informer(MARIADB).get(_server_key(live))
        is_absent = server is None or is_deleting(server)
        if is_absent or (live.get("spec") or {}).get("cleanupPolicy") == "Skip":
            return
        statements = self._row.drop(manifest.spec_of(named(live), self._row.spec))
        await mariadb_sql.execute(self._run, await self._endpoint(live), statements)

    async def _report_created(self, live: Object) -> None:
        ready = Condition(type="Ready", status="True", reason="Created", message="Created")
        granted = live["spec"]["privileges"] if self._row.kind is GRANT else []
        after = GrantStatus(conditions=self.merged(live, [ready]), current_privileges=granted)
        await self.write_status(live, after)

    async def _endpoint(self, live: Object) -> Endpoint:
        key = _server_key(live)
        server = self._cluster.informer(MARIADB).get(key)
        if server is None:
            raise Waiting(f"MariaDB {str(key)!r} does not exist")
        generation = server["metadata"]["generation"]
        if not conditions.is_true(conditions.of(server), "Ready", generation=generation):
            raise Waiting(f"MariaDB {str(key)!r} is not ready")
        spec = manifest.spec_of(mariadb_server.defaulted(server), MariaDBSpec)
        ref = spec.root_password_secret_key_ref
        found = await self._cluster.read(SECRET, Key(key.namespace, ref.name))
        host = self._address(self._cluster.informer(SERVICE).get(key))
        if not host:
            raise Waiting(f"Service {str(key)!r} has no address")
        password = secret.text(found, ref.key) or ""
        return Endpoint(host, spec.port, password, await self._authority(key.namespace, spec))

    async def _authority(self, namespace: str, spec: MariaDBSpec) -> str:
        """The CA of the server's certificate; empty if it speaks plain text."""
        name = mariadb_server.authority(spec) if mariadb_server.certificate(spec) else ""
        if not name:
            return ""
        found = secret.text(await self._cluster.read(SECRET, Key(namespace, name)), "ca.crt")
        if not found:
            raise Waiting(f"Secret {name!r} with the key 'ca.crt' does not exist")
        return found

    async def _password(self, live: Object, spec: Any) -> str:
        if not isinstance(spec, UserSpec):
            return ""
        ref = spec.password_secret_key_ref
        key = Key(live["metadata"]["namespace"], ref.name)
        found = secret.text(await self._cluster.read(SECRET, key), ref.key)
        if not found:
            raise Waiting(
                f"Secret {ref.name!r} with the key {ref.key!r} does not exist",
                "create it or correct spec.passwordSecretKeyRef",
            )
        return found

    def _of_account(self, change: Change) -> Iterable[Key]:
        informer = self._cluster.informer(self._row.kind)
        for account in _account(change.latest):
            for obj in informer.find("account", account):
                yield key_of(obj)


def named(obj: Object) -> Object:
    """`spec.name` defaults to the name of the object."""
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
    """The account of a User, or the one that a Grant names."""
    spec = named(obj)["spec"]
    name = spec.get("username") or spec["name"]
    yield f"{_server_key(obj)} {name}@{spec.get('host') or '%'}"


def _surplus(live: Object, spec: Any) -> list[str]:
    if not isinstance(spec, GrantSpec):
        return []
    granted = manifest.status_of(live, GrantStatus).current_privileges
    return [each for each in granted if each not in spec.privileges]
