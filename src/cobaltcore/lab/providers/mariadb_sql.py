"""What Database, User and Grant mean in SQL, and the way to the server.

Statements are idempotent. Values travel as parameters, names are quoted, privileges are checked:
nothing from an object is read as SQL. What the server says about a statement with a password in
it is not repeated.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pymysql
from pymysql import converters

from cobaltcore.api.foreign.mariadb import DatabaseSpec, GrantSpec, UserSpec
from cobaltcore.lab.providers.things import Refused

ADMINISTRATOR = "root"
PROBE_USER = "openstack"
CONNECT_WITHIN = timedelta(seconds=5)
ANSWER_WITHIN = timedelta(seconds=60)

SYNTAX_ERROR = 1064
NO_SUCH_ACCOUNT = 1133
NO_SUCH_GRANT = 1141
NO_SUCH_TABLE_GRANT = 1147
NOT_GRANTED = frozenset({NO_SUCH_ACCOUNT, NO_SUCH_GRANT, NO_SUCH_TABLE_GRANT})

_PRIVILEGE = re.compile(r"[A-Za-z]+( [A-Za-z]+)*( ?\([A-Za-z0-9_$]+(, ?[A-Za-z0-9_$]+)*\))?")


class NotAPrivilege(ValueError):
    """A privilege of a grant is not one."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and the password of its administrator."""

    host: str
    port: int
    password: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the refusals that mean that there was nothing to do."""

    text: str
    values: Sequence[str | int] = ()
    done_if: frozenset[int] = frozenset()


def make_database(spec: DatabaseSpec) -> list[Statement]:
    """The database with its character set."""
    name, rest = quoted(spec.name), "CHARACTER SET = %s COLLATE = %s"
    values = (spec.character_set, spec.collate)
    return [
        Statement(f"CREATE DATABASE IF NOT EXISTS {name} {rest}", values),
        Statement(f"ALTER DATABASE {name} {rest}", values),
    ]


def drop_database(spec: DatabaseSpec) -> list[Statement]:
    """No such database."""
    return [Statement(f"DROP DATABASE IF EXISTS {quoted(spec.name)}")]


def make_user(spec: UserSpec, password: str) -> list[Statement]:
    """The account with that password."""
    rest = f"%s@%s IDENTIFIED BY %s WITH MAX_USER_CONNECTIONS {spec.max_user_connections:d}"
    values = (spec.name, spec.host, password)
    return [
        Statement(f"CREATE USER IF NOT EXISTS {rest}", values),
        Statement(f"ALTER USER {rest}", values),
    ]


def drop_user(spec: UserSpec) -> list[Statement]:
    """No such account."""
    return [Statement("DROP USER IF EXISTS %s@%s", (spec.name, spec.host))]


def make_grant(spec: GrantSpec, surplus: Sequence[str] = ()) -> list[Statement]:
    """The account's privileges, without those that were granted earlier and are not any more."""
    option = " WITH GRANT OPTION" if spec.grant_option else ""
    text = f"GRANT {_privileges(spec.privileges)} ON {_where(spec)} TO %s@%s{option}"
    return [*_revoke(spec, surplus), Statement(text, (spec.username, spec.host))]


def revoke_grant(spec: GrantSpec) -> list[Statement]:
    """None of the privileges."""
    option = ["GRANT OPTION"] if spec.grant_option else []
    return [*_revoke(spec, option), *_revoke(spec, spec.privileges)]


def _revoke(spec: GrantSpec, privileges: Sequence[str]) -> list[Statement]:
    if not privileges:
        return []
    text = f"REVOKE {_privileges(privileges)} ON {_where(spec)} FROM %s@%s"
    return [Statement(text, (spec.username, spec.host), NOT_GRANTED)]


def start_statements(password: str) -> str:
    """What the server reads when it starts: the administrator may come from anywhere.

    The pod's own user may ask whether the server is alive, and nothing else.
    """
    lines = [f"CREATE USER IF NOT EXISTS '{PROBE_USER}'@'localhost' IDENTIFIED VIA unix_socket;"]
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
    """A name of a database or table, in a statement whose values are still to be put in."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _where(spec: GrantSpec) -> str:
    parts = (spec.database, spec.table)
    return ".".join("*" if each == "*" else quoted(each) for each in parts)


def _privileges(given: Sequence[str]) -> str:
    for each in given:
        if not _PRIVILEGE.fullmatch(each):
            raise NotAPrivilege(f"spec.privileges: {each!r} is not a privilege such as SELECT")
    return ", ".join(given)


Run = Callable[[Endpoint, Sequence[Statement]], None]


def run(endpoint: Endpoint, statements: Sequence[Statement]) -> None:
    """Run statements one after the other; blocks."""
    try:
        with closing(_connected(endpoint)) as connection, connection.cursor() as cursor:
            for statement in statements:
                _execute(cursor, statement)
    except pymysql.err.Error as error:
        raise _failure(error, endpoint) from None


async def perform(run_: Run, endpoint: Endpoint, statements: Sequence[Statement]) -> None:
    """Run statements without holding up the event loop."""
    await asyncio.to_thread(run_, endpoint, statements)


def _connected(endpoint: Endpoint) -> "pymysql.Connection[Any]":
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=ADMINISTRATOR,
        # As text it would have to be Latin-1.
        password=endpoint.password.encode(),
        ssl_disabled=True,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=int(CONNECT_WITHIN.total_seconds()),
        read_timeout=int(ANSWER_WITHIN.total_seconds()),
        write_timeout=int(ANSWER_WITHIN.total_seconds()),
    )


def _execute(cursor: Any, statement: Statement) -> None:
    try:
        cursor.execute(statement.text, tuple(statement.values))
    except pymysql.err.Error as error:
        if _code(error) not in statement.done_if:
            raise


def _failure(error: pymysql.err.Error, endpoint: Endpoint) -> Refused:
    code = _code(error)
    if isinstance(error, pymysql.err.OperationalError) and code >= 2000:
        return Refused(f"no answer from {endpoint.host}:{endpoint.port}")
    if code == SYNTAX_ERROR:
        return Refused("the server does not understand the statement")
    text = error.args[1] if len(error.args) > 1 else type(error).__name__
    return Refused(f"{text} ({code})")


def _code(error: pymysql.err.Error) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0
