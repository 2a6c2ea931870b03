"""The objects of a MariaDB server: settings, secrets, pod, Services. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.mariadb import MariaDBSpec
from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired import configmap, names, secret
from cobaltcore.engine.desired.statefulset import Storage
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of
from cobaltlab.providers import mariadb_sql, serverpod

NAME = "mariadb"
VOLUME = "/var/lib/mysql"
SOCKET = "/tmp/mysqld.sock"  # noqa: S108 an empty volume of the pod
START_STATEMENTS = "start.sql"

# The redo log is written at every commit and flushed once a second: a killed server loses nothing,
# a power failure up to one second.
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

_TLS_SETTINGS = f"""\
ssl-cert = {serverpod.CERTIFICATE}/tls.crt
ssl-key = {serverpod.CERTIFICATE}/tls.key
ssl-ca = {serverpod.CERTIFICATE}/ca.crt
tls-version = TLSv1.2,TLSv1.3
"""

# A renewed certificate is served to new connections; those that exist go on.
_RENEW = f"""\
renew() {{
    served=$(cksum < {serverpod.CERTIFICATE}/tls.crt)
    while sleep 5; do
        latest=$(cksum < {serverpod.CERTIFICATE}/tls.crt)
        if [ "$latest" != "$served" ]; then
            mariadb --no-defaults --socket={SOCKET} -e 'FLUSH SSL' && served=$latest
        fi
    done
}}
[ ! -e {serverpod.CERTIFICATE}/tls.crt ] || renew &
"""

# An interrupted installation is under another name and starts over.
_START = f"""\
set -eu
{_RENEW}cd {VOLUME}
if [ ! -d data ]; then
    rm -rf new
    mariadb-install-db --no-defaults --datadir={VOLUME}/new --skip-test-db --skip-name-resolve
    mv new data
fi
exec mariadbd --defaults-file={serverpod.CONFIGURATION}/my.cnf
"""

_RESOURCES = Resources(requests={"cpu": "250m", "memory": "192Mi"}, limits={"memory": "1Gi"})


def defaulted(obj: Object) -> Object:
    """A MariaDB with the default of rootPasswordSecretKeyRef that the real operator sets."""
    spec = dict(obj.get("spec") or {})
    spec.setdefault(
        "rootPasswordSecretKeyRef",
        {"name": f"{obj['metadata']['name']}-root", "key": "password", "generate": True},
    )
    return {**obj, "spec": spec}


def labels(live: Object) -> dict[str, str]:
    return names.selector(NAME, live["metadata"]["name"])


def objects(
    live: Object, spec: MariaDBSpec, *, image: str, password: str, current: Object | None
) -> Iterator[Desired]:
    """Everything that a server consists of; `current` is its live StatefulSet."""
    key, labels_ = key_of(live), labels(live)
    files = {"my.cnf": settings(spec), "start.sh": _START}
    configuration = configmap.config_map(Key(key.namespace, f"{key.name}-config"), files, labels_)
    statements = {START_STATEMENTS: mariadb_sql.start_statements(password)}
    secrets = secret.secret(Key(key.namespace, f"{key.name}-init"), statements, labels=labels_)
    ports = {NAME: spec.port}
    server = serverpod.Server(
        name=NAME,
        key=key,
        labels=labels_,
        image=image,
        command=["sh", f"{serverpod.CONFIGURATION}/start.sh"],
        ports=ports,
        configuration=configuration.key.name,
        secret=secrets.key.name,
        probes=serverpod.probes(
            NAME, ["mariadb-admin", "--no-defaults", f"--socket={SOCKET}", "ping"]
        ),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        storage=_storage(live, spec),
        data_path=VOLUME,
        digest=digest(statements),
        node_selector=spec.node_selector or None,
        certificate=certificate(spec),
    )
    internal = f"{key.name}-internal"
    yield configuration
    yield secrets
    yield serverpod.service(server, key.name, ports=ports)
    yield serverpod.service(server, f"{key.name}-primary", ports=ports)
    yield serverpod.service(server, internal, ports=ports, headless=True, before_ready=True)
    yield serverpod.stateful_set(server, internal, live=current)


def certificate(spec: MariaDBSpec) -> str:
    """The Secret with the server's certificate; empty without TLS."""
    tls = spec.tls
    if tls is None or not tls.enabled or tls.server_cert_secret_ref is None:
        return ""
    return tls.server_cert_secret_ref.name


def authority(spec: MariaDBSpec) -> str:
    """The Secret with the CA of that certificate."""
    ca = spec.tls.server_ca_secret_ref if spec.tls is not None else None
    return ca.name if ca is not None else certificate(spec)


def settings(spec: MariaDBSpec) -> str:
    """Defaults, then `spec.myCnf`: the last value of an option counts."""
    defaults = f"{_SETTINGS}port = {spec.port}\n"
    if certificate(spec):
        is_required = spec.tls is not None and spec.tls.required
        defaults += _TLS_SETTINGS + ("require_secure_transport = ON\n" if is_required else "")
    return f"{defaults}\n{spec.my_cnf.rstrip()}\n" if spec.my_cnf else defaults


def _storage(live: Object, spec: MariaDBSpec) -> Storage:
    retention = spec.storage.pvc_retention_policy
    deleted = retention is not None and retention.when_deleted == serverpod.DELETE
    return Storage(
        claim="storage",
        size=spec.storage.size,
        storage_class=spec.storage.storage_class_name,
        retain=not (deleted or serverpod.deletes_data(live)),
    )
