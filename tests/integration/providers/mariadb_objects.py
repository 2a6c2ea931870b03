"""Objects of the MariaDB provider's tests, all valid for the real operator, too."""

import base64
from typing import Any

from cobaltcore.api.foreign.mariadb import DATABASE, GRANT, MARIADB, USER
from cobaltcore.runtime.meta import Key, Object
from tests.support.providers import an_object

IMAGE = "example.invalid/mariadb:1"


def a_server(namespace: str, *, port: int = 3306, **spec: Any) -> Object:
    return an_object(
        MARIADB,
        Key(namespace, "db"),
        {
            "image": IMAGE,
            "port": port,
            "rootPasswordSecretKeyRef": {"name": "db-root", "key": "password"},
            "storage": {"size": "1Gi"},
            **spec,
        },
    )


def a_database(namespace: str, name: str, **spec: Any) -> Object:
    return an_object(
        DATABASE,
        Key(namespace, "keystone"),
        {
            "mariaDbRef": {"name": "db"},
            "name": name,
            "characterSet": "utf8mb4",
            "collate": "utf8mb4_general_ci",
            **spec,
        },
    )


def a_user(namespace: str, name: str, **spec: Any) -> Object:
    return an_object(
        USER,
        Key(namespace, "keystone"),
        {
            "mariaDbRef": {"name": "db"},
            "name": name,
            "host": "%",
            "passwordSecretKeyRef": {"name": "keystone-db", "key": "password"},
            **spec,
        },
    )


def a_grant(namespace: str, name: str, **spec: Any) -> Object:
    return an_object(
        GRANT,
        Key(namespace, "keystone"),
        {
            "mariaDbRef": {"name": "db"},
            "privileges": ["ALL PRIVILEGES"],
            "database": name,
            "table": "*",
            "username": name,
            "host": "%",
            **spec,
        },
    )


def a_secret(namespace: str, name: str, **values: str) -> Object:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }
