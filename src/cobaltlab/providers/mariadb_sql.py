"""Database, User and Grant as SQL statements, and their execution.

Statements are idempotent. Values are parameters, names are quoted, privileges are checked against a
pattern: nothing from an object is read as SQL. Syntax errors are not repeated in messages, because
they quote the statement and with it passwords.
"""

import asyncio
import re
import ssl
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pymysql
from pymysql import converters

from cobaltcore.api.foreign.mariadb import DatabaseSpec, GrantSpec, UserSpec
from cobaltlab.providers.failures import InvalidSpec
from cobaltlab.providers.server_objects import ServerError

ADMINISTRATOR = "root"
PROBE_USER = "openstack"
CONNECT_TIMEOUT = timedelta(seconds=5)
STATEMENT_TIMEOUT = timedelta(seconds=60)

SYNTAX_ERROR = 1064
NO_SUCH_ACCOUNT = 1133
NO_SUCH_GRANT = 1141
NO_SUCH_TABLE_GRANT = 1147
NOT_GRANTED = frozenset({NO_SUCH_ACCOUNT, NO_SUCH_GRANT, NO_SUCH_TABLE_GRANT})

_PRIVILEGE = re.compile(r"[A-Za-z]+( [A-Za-z]+)*( ?\([A-Za-z0-9_$]+(, ?[A-Za-z0-9_$]+)*\))?")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and its root password."""

    host: str
    port: int
    password: str
    authority: str = ""
    """The CA of its certificate, in PEM; empty: the connection is plain."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the error codes that mean that there was nothing to do."""

    text: str
    values: Sequence[str | int] = ()
    ignored_errors: frozenset[int] = frozenset()


def create_database(spec: DatabaseSpec) -> list[Statement]:
    name, rest = quoted(spec.name), "CHARACTER SET = %s COLLATE = %s"
    values = (spec.character_set, spec.collate)
    return [
        Statement(f"CREATE DATABASE IF NOT EXISTS {name} {rest}", values),
        Statement(f"ALTER DATABASE {name} {rest}", values),
    ]


def drop_database(spec: DatabaseSpec) -> list[Statement]:
    return [Statement(f"DROP DATABASE IF EXISTS {quoted(spec.name)}")]


def create_user(spec: UserSpec, password: str) -> list[Statement]:
    require = "SSL" if spec.require is not None and spec.require.ssl else "NONE"
    limit = f"WITH MAX_USER_CONNECTIONS {spec.max_user_connections:d}"
    rest = f"%s@%s IDENTIFIED BY %s REQUIRE {require} {limit}"
    values = (spec.name, spec.host, password)
    return [
        Statement(f"CREATE USER IF NOT EXISTS {rest}", values),
        Statement(f"ALTER USER {rest}", values),
    ]


def drop_user(spec: UserSpec) -> list[Statement]:
    return [Statement("DROP USER IF EXISTS %s@%s", (spec.name, spec.host))]


def grant(spec: GrantSpec, surplus: Sequence[str] = ()) -> list[Statement]:
    """Grant the privileges, revoke the `surplus` that was granted by an earlier spec."""
    option = " WITH GRANT OPTION" if spec.grant_option else ""
    text = f"GRANT {_privileges(spec.privileges)} ON {_where(spec)} TO %s@%s{option}"
    return [*_revoke(spec, surplus), Statement(text, (spec.username, spec.host))]


def revoke_grant(spec: GrantSpec) -> list[Statement]:
    option = ["GRANT OPTION"] if spec.grant_option else []
    return [*_revoke(spec, option), *_revoke(spec, spec.privileges)]


def _revoke(spec: GrantSpec, privileges: Sequence[str]) -> list[Statement]:
    if not privileges:
        return []
    text = f"REVOKE {_privileges(privileges)} ON {_where(spec)} FROM %s@%s"
    return [Statement(text, (spec.username, spec.host), NOT_GRANTED)]


def start_statements(password: str) -> str:
    """The init file of a server: root may connect from any host.

    The user of the pod has an account for probes, which can load a renewed certificate.
    """
    lines = [
        f"CREATE USER IF NOT EXISTS '{PROBE_USER}'@'localhost' IDENTIFIED VIA unix_socket;",
        # For a renewed certificate.
        f"GRANT RELOAD ON *.* TO '{PROBE_USER}'@'localhost';",
    ]
    for host in ("localhost", "%"):
        account = f"'{ADMINISTRATOR}'@'{host}'"
        secret = f"'{converters.escape_string(password)}'"
        lines += [
            f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY {secret};",
            f"ALTER USER {account} IDENTIFIED BY {secret};",
            f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION;",
        ]
    return "\n".join(lines) + "\n"


def quoted(name: str) -> str:
    """Quote a database or table name; percent signs are doubled for parameter substitution."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _where(spec: GrantSpec) -> str:
    parts = (spec.database, spec.table)
    return ".".join("*" if each == "*" else quoted(each) for each in parts)


def _privileges(privileges: Sequence[str]) -> str:
    for each in privileges:
        if not _PRIVILEGE.fullmatch(each):
            raise InvalidSpec(
                f"spec.privileges: {each!r} is not a privilege",
                "use privileges such as SELECT, INSERT or ALL PRIVILEGES",
            )
    return ", ".join(privileges)


Run = Callable[[Endpoint, Sequence[Statement]], None]


def run(endpoint: Endpoint, statements: Sequence[Statement]) -> None:
    """Run statements in order; blocks."""
    try:
        with closing(_connected(endpoint)) as connection, connection.cursor() as cursor:
            for statement in statements:
                _execute(cursor, statement)
    except pymysql.err.Error as error:
        raise _failure(error, endpoint) from None


async def execute(run_: Run, endpoint: Endpoint, statements: Sequence[Statement]) -> None:
    """Run statements in a thread."""
    await asyncio.to_thread(run_, endpoint, statements)


def _connected(endpoint: Endpoint) -> "pymysql.Connection[Any]":
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=ADMINISTRATOR,
        # PyMySQL encodes text as Latin-1.
        password=endpoint.password.encode(),
        ssl=_trusting(endpoint.authority) if endpoint.authority else None,
        ssl_disabled=not endpoint.authority,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=int(CONNECT_TIMEOUT.total_seconds()),
        read_timeout=int(STATEMENT_TIMEOUT.total_seconds()),
        write_timeout=int(STATEMENT_TIMEOUT.total_seconds()),
    )


def _trusting(authority: str) -> ssl.SSLContext:
    """The server is addressed by its IP address, which its certificate does not have."""
    context = ssl.create_default_context(cadata=authority)
    context.check_hostname = False
    return context


def _execute(cursor: Any, statement: Statement) -> None:
    try:
        cursor.execute(statement.text, tuple(statement.values))
    except pymysql.err.Error as error:
        if _code(error) not in statement.ignored_errors:
            raise


def _failure(error: pymysql.err.Error, endpoint: Endpoint) -> ServerError:
    code = _code(error)
    if isinstance(error, pymysql.err.OperationalError) and code >= 2000:
        return ServerError(f"MariaDB at {endpoint.host}:{endpoint.port} does not respond")
    if code == SYNTAX_ERROR:
        return ServerError(
            f"MariaDB rejects a statement as a syntax error ({code})",
            "check names and values of the spec",
        )
    text = error.args[1] if len(error.args) > 1 else type(error).__name__
    return ServerError(f"{text} ({code})")


def _code(error: pymysql.err.Error) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0
