"""The objects of a MariaDB server: settings, secrets, pod, Services. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.mariadb import MariaDBSpec
from cobaltcore.engine.desired import configmap, names, secret
from cobaltcore.lab.providers import mariadb_sql, serverpod
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of

NAME = "mariadb"
VOLUME = "/var/lib/mysql"
SOCKET = "/tmp/mysqld.sock"  # noqa: S108 an empty volume of the pod
START_STATEMENTS = "start.sql"

# A killed server loses nothing, a machine that loses power the last second: the log is written
# at every commit and flushed once a second.
_SETTINGS = f"""\
[mariadbd]
datadir = {VOLUME}/data
socket = {SOCKET}
pid-file = /tmp/mysqld.pid
tmpdir = /tmp
init-file = {serverpod.SECRETS}/{START_STATEMENTS}
bind-address = 0.0.0.0
skip-name-resolve
skip-log-bin
character-set-server = utf8mb4
max_connections = 1000
performance_schema = OFF
innodb_buffer_pool_size = 96M
innodb_log_file_size = 48M
innodb_log_buffer_size = 8M
innodb_flush_log_at_trx_commit = 2
key_buffer_size = 1M
aria_pagecache_buffer_size = 8M
table_open_cache = 1000
"""

# A directory that was not filled to the end has another name and is filled again.
_START = f"""\
set -eu
cd {VOLUME}
if [ ! -d data ]; then
    rm -rf new
    mariadb-install-db --no-defaults --datadir={VOLUME}/new --skip-test-db --skip-name-resolve
    mv new data
fi
exec mariadbd --defaults-file={serverpod.CONFIGURATION}/my.cnf
"""

_RESOURCES = {"requests": {"cpu": "250m", "memory": "192Mi"}, "limits": {"memory": "1Gi"}}


def defaulted(obj: Object) -> Object:
    """A MariaDB with the root password's place filled in as the real operator does it."""
    spec = dict(obj.get("spec") or {})
    spec.setdefault(
        "rootPasswordSecretKeyRef",
        {"name": f"{obj['metadata']['name']}-root", "key": "password", "generate": True},
    )
    return {**obj, "spec": spec}


def labels(live: Object) -> dict[str, str]:
    """The labels of everything that belongs to a server."""
    return names.selector(NAME, live["metadata"]["name"])


def objects(
    live: Object, spec: MariaDBSpec, *, image: str, password: str, known: Object | None
) -> Iterator[Desired]:
    """Everything that a server consists of; `known` is its StatefulSet as it is now."""
    key, marks = key_of(live), labels(live)
    files = {"my.cnf": settings(spec), "start.sh": _START}
    configuration = configmap.config_map(Key(key.namespace, f"{key.name}-config"), files, marks)
    statements = {START_STATEMENTS: mariadb_sql.start_statements(password)}
    secrets = secret.secret(Key(key.namespace, f"{key.name}-init"), statements, labels=marks)
    ports = {NAME: spec.port}
    server = serverpod.Server(
        name=NAME,
        key=key,
        labels=marks,
        image=image,
        command=["sh", f"{serverpod.CONFIGURATION}/start.sh"],
        ports=ports,
        configuration=configuration.key.name,
        secret=secrets.key.name,
        probes=serverpod.probes(
            NAME, ["mariadb-admin", "--no-defaults", f"--socket={SOCKET}", "ping"]
        ),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        volume=_volume(live, spec),
        digest=digest(statements),
        settings={"nodeSelector": spec.node_selector} if spec.node_selector else {},
    )
    internal = f"{key.name}-internal"
    yield configuration
    yield secrets
    yield serverpod.service(server, key.name, ports=ports)
    yield serverpod.service(server, f"{key.name}-primary", ports=ports)
    yield serverpod.service(server, internal, ports=ports, headless=True, before_ready=True)
    yield serverpod.stateful_set(server, internal, live=known)


def settings(spec: MariaDBSpec) -> str:
    """Small and quick to start, then what the user wants: the last word counts."""
    ours = f"{_SETTINGS}port = {spec.port}\n"
    return f"{ours}\n{spec.my_cnf.rstrip()}\n" if spec.my_cnf else ours


def _volume(live: Object, spec: MariaDBSpec) -> serverpod.Volume:
    retention = spec.storage.pvc_retention_policy
    removed = retention is not None and retention.when_deleted == serverpod.REMOVE
    return serverpod.Volume(
        claim="storage",
        path=VOLUME,
        size=spec.storage.size,
        storage_class=spec.storage.storage_class_name,
        keep=not (removed or serverpod.says_delete(live)),
    )
