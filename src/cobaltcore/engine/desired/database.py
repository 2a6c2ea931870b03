"""Database, user and grant on a MariaDB, and the DSN. Pure."""

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
    ca_file: str = ""
    """What the server's certificate is checked against; empty: connections are plain."""


def dsn(account: Account, database: str) -> str:
    """The connection string of a database; passwords may hold any character."""
    login = f"{quote(account.username, safe='')}:{quote(account.password, safe='')}"
    query = "?charset=utf8"
    if account.ca_file:
        query += f"&ssl_ca={account.ca_file}&ssl_check_hostname=true"
    host = f"[{account.host}]" if ":" in account.host else account.host
    return f"mysql+pymysql://{login}@{host}:{account.port}/{database}{query}"


@dataclass(frozen=True, slots=True)
class Owner:
    """The user that owns databases, and whether they are kept."""

    username: str
    password_secret: str
    keep: bool
    """Whether deleting the objects leaves data and user in the server."""
    encrypted: bool = False
    """Whether the user can log in by TLS only."""

    @property
    def policy(self) -> mariadb.CleanupPolicy:
        """The same as a field of mariadb-operator."""
        return "Skip" if self.keep else "Delete"


def user(cluster: Key, name: str, owner: Owner, labels: Mapping[str, str]) -> Desired:
    """The user that a service logs in as, for all its databases."""
    spec = mariadb.UserSpec(
        maria_db_ref=mariadb.MariaDBRef(name=cluster.name),
        name=owner.username,
        host="%",
        password_secret_key_ref=mariadb.SecretKeyRef(name=owner.password_secret, key="password"),
        cleanup_policy=owner.policy,
        require=mariadb.Require(ssl=True) if owner.encrypted else None,
        # Pools of many processes share one user; the operator's default of 10 starves them.
        max_user_connections=0,
    )
    return _desired(mariadb.USER, Key(cluster.namespace, name), spec, labels)


def objects(
    cluster: Key, name: str, database: str, owner: Owner, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """A database and the grant on it, both called `name`."""
    reference = mariadb.MariaDBRef(name=cluster.name)
    key = Key(cluster.namespace, name)
    spec = mariadb.DatabaseSpec(maria_db_ref=reference, name=database, cleanup_policy=owner.policy)
    yield _desired(mariadb.DATABASE, key, spec, labels)
    grant = mariadb.GrantSpec(
        maria_db_ref=reference,
        privileges=["ALL PRIVILEGES"],
        database=database,
        table="*",
        username=owner.username,
        host="%",
        cleanup_policy=owner.policy,
    )
    yield _desired(mariadb.GRANT, key, grant, labels)


def _desired(kind: Kind, key: Key, spec: Struct, labels: Mapping[str, str]) -> Desired:
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    body: dict[str, Any] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
    return Desired(kind, body)


def host(cluster: Object) -> str:
    """The Service of a server: with several replicas the one that follows the primary."""
    meta = cluster["metadata"]
    galera = (cluster["spec"].get("galera") or {}).get("enabled")
    name = f"{meta['name']}-primary" if galera else meta["name"]
    return f"{name}.{meta['namespace']}.svc"
