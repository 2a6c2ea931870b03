"""Objects that make a database on a MariaDB, and the address to reach it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from cobaltcore.api.foreign import mariadb
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, Struct


@dataclass(frozen=True, slots=True)
class Account:
    """Who logs in where."""

    host: str
    port: int
    username: str
    password: str


def dsn(account: Account, database: str, *, ca_file: str = "") -> str:
    """The connection string of a database; passwords may hold any character."""
    login = f"{quote(account.username, safe='')}:{quote(account.password, safe='')}"
    query = "?charset=utf8" + (f"&ssl_ca={ca_file}" if ca_file else "")
    return f"mysql+pymysql://{login}@{account.host}:{account.port}/{database}{query}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A database and the user that owns it."""

    database: str
    username: str
    password_secret: str
    keep: bool
    """Whether deleting the objects leaves data and user in the server."""


def objects(
    cluster: Key, name: str, wanted: Wanted, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """Database, user and grant, all called `name`."""
    reference = mariadb.MariaDBRef(name=cluster.name)
    policy: mariadb.CleanupPolicy = "Skip" if wanted.keep else "Delete"

    def made(kind: Kind, spec: Struct) -> Desired:
        meta = {"name": name, "namespace": cluster.namespace, "labels": dict(labels)}
        body: dict[str, Any] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
        return Desired(kind, body)

    yield made(
        mariadb.DATABASE,
        mariadb.DatabaseSpec(maria_db_ref=reference, name=wanted.database, cleanup_policy=policy),
    )
    yield made(
        mariadb.USER,
        mariadb.UserSpec(
            maria_db_ref=reference,
            name=wanted.username,
            host="%",
            password_secret_key_ref=mariadb.SecretKeyRef(
                name=wanted.password_secret, key="password"
            ),
            cleanup_policy=policy,
        ),
    )
    yield made(
        mariadb.GRANT,
        mariadb.GrantSpec(
            maria_db_ref=reference,
            privileges=["ALL PRIVILEGES"],
            database=wanted.database,
            table="*",
            username=wanted.username,
            host="%",
            cleanup_policy=policy,
        ),
    )


def host(cluster: Object) -> str:
    """The Service of a server: with several replicas the one that follows the primary."""
    meta = cluster["metadata"]
    galera = (cluster["spec"].get("galera") or {}).get("enabled")
    name = f"{meta['name']}-primary" if galera else meta["name"]
    return f"{name}.{meta['namespace']}.svc"
