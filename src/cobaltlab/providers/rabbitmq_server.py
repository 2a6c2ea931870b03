"""The objects of a RabbitMQ broker: settings, secrets, pod, Services. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.rabbitmq import ClusterSpec, Persistence
from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired import configmap, secret
from cobaltcore.engine.desired.statefulset import Storage
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of
from cobaltlab.providers import rabbitmq_http, serverpod

NAME = "rabbitmq"
VOLUME = "/var/lib/rabbitmq"
AMQP, AMQPS = 5672, 5671
PLAIN_PORTS = {"amqp": AMQP, "management": rabbitmq_http.PORT}
TLS_PORTS = {"amqps": AMQPS, "management-tls": rabbitmq_http.TLS_PORT}
NODE_PORTS = {"epmd": 4369, "cluster-rpc": 25672}
DEFINITIONS = "definitions.json"
LOGIN_KEYS = {"username": "username", "password": "password"}

_SETTINGS = f"""\
load_definitions = {serverpod.SECRETS}/{DEFINITIONS}
vm_memory_high_watermark.absolute = 384MB
disk_free_limit.absolute = 50MB
queue_index_embed_msgs_below = 1KB
management_agent.disable_metrics_collector = true
log.console = true
log.console.level = info
"""

_PLAIN_LISTENERS = f"""\
listeners.tcp.default = {AMQP}
management.tcp.port = {rabbitmq_http.PORT}
"""
_NO_PLAIN_LISTENERS = "listeners.tcp = none\n"
_TLS_LISTENERS = "".join(
    f"{prefix}.certfile = {serverpod.CERTIFICATE}/tls.crt\n"
    f"{prefix}.keyfile = {serverpod.CERTIFICATE}/tls.key\n"
    f"{prefix}.cacertfile = {serverpod.CERTIFICATE}/ca.crt\n"
    for prefix in ("ssl_options", "management.ssl")
)
_TLS_LISTENERS += f"""\
listeners.ssl.default = {AMQPS}
management.ssl.port = {rabbitmq_http.TLS_PORT}
"""

# Mnesia's data belongs to the node name, so the name has to outlive the pod. The FQDN is in the
# hosts file of the pod and needs no DNS. The Erlang cookie is created at each start: fsGroup would
# make it group-readable on the volume, which Erlang refuses.
_START = f"""\
set -eu
export HOME=/tmp
export RABBITMQ_USE_LONGNAME=true
export RABBITMQ_NODENAME="rabbit@$(hostname -f)"
export RABBITMQ_MNESIA_BASE={VOLUME}/mnesia
export RABBITMQ_PID_FILE=/tmp/rabbitmq.pid
export RABBITMQ_LOG_BASE=/tmp
export RABBITMQ_LOGS=-
export ERL_CRASH_DUMP_SECONDS=0
export RABBITMQ_CONFIG_FILE={serverpod.CONFIGURATION}/rabbitmq.conf
export RABBITMQ_ADVANCED_CONFIG_FILE={serverpod.CONFIGURATION}/advanced.config
export RABBITMQ_ENABLED_PLUGINS_FILE={serverpod.CONFIGURATION}/enabled_plugins
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"
exec /usr/lib/rabbitmq/bin/rabbitmq-server
"""

# Most services wait for their broker, and its first start is CPU-bound.
_RESOURCES = Resources(requests={"cpu": "500m", "memory": "160Mi"}, limits={"memory": "1Gi"})


def labels(live: Object) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": live["metadata"]["name"],
        "app.kubernetes.io/component": NAME,
        "app.kubernetes.io/part-of": NAME,
    }


def stateful_set_key(key: Key) -> Key:
    return Key(key.namespace, f"{key.name}-server")


def login_key(key: Key) -> Key:
    """The Secret with the default user."""
    return Key(key.namespace, f"{key.name}-default-user")


def certificate(spec: ClusterSpec) -> str:
    """The Secret with the broker's certificate; empty without TLS."""
    return (spec.tls.secret_name if spec.tls is not None else None) or ""


def is_plain(spec: ClusterSpec) -> bool:
    """Whether it accepts connections without TLS."""
    return not certificate(spec) or spec.tls is None or not spec.tls.disable_non_tls_listeners


def client_ports(spec: ClusterSpec) -> dict[str, int]:
    """The ports that clients connect to."""
    plain = PLAIN_PORTS if is_plain(spec) else {}
    return {**plain, **(TLS_PORTS if certificate(spec) else {})}


def default_user(live: Object, spec: ClusterSpec, password: str) -> Desired:
    """The default user as the real operator writes it.

    Its name depends on the object's name only, so that a recreated broker has no second one.
    """
    key = key_of(live)
    username = f"default_user_{digest(key)[:24]}"
    host = f"{key.name}.{key.namespace}.svc"
    scheme, port = ("amqps", AMQPS) if certificate(spec) else ("amqp", AMQP)
    values = {
        "username": username,
        "password": password,
        "host": host,
        "port": str(port),
        "provider": NAME,
        "type": NAME,
        "connection_string": f"{scheme}://{username}:{password}@{host}:{port}/",
        "default_user.conf": f"default_user = {username}\ndefault_pass = {password}\n",
    }
    return secret.secret(login_key(key), values, labels=labels(live))


def objects(
    live: Object,
    spec: ClusterSpec,
    *,
    image: str,
    login: tuple[str, str],
    current: Object | None,
) -> Iterator[Desired]:
    """Everything that a broker consists of; `current` is its live StatefulSet."""
    key, labels_ = key_of(live), labels(live)
    prefix = Key(key.namespace, f"{key.name}-server-conf")
    configuration = configmap.config_map(prefix, settings(spec), labels_)
    content = {DEFINITIONS: rabbitmq_http.definitions(*login)}
    init = secret.secret(Key(key.namespace, f"{key.name}-init"), content, labels=labels_)
    nodes = f"{key.name}-nodes"
    ports = client_ports(spec)
    server = serverpod.Server(
        name=NAME,
        key=stateful_set_key(key),
        labels=labels_,
        image=image,
        command=["sh", f"{serverpod.CONFIGURATION}/start.sh"],
        ports={**ports, **NODE_PORTS},
        configuration=configuration.key.name,
        secret=init.key.name,
        probes=serverpod.probes(next(iter(ports))),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        storage=_storage(live, spec.persistence or Persistence()),
        data_path=VOLUME,
        digest=digest(content),
        certificate=certificate(spec),
    )
    yield configuration
    yield init
    yield serverpod.service(server, key.name, ports=ports)
    yield serverpod.service(server, nodes, ports=NODE_PORTS, headless=True, before_ready=True)
    yield serverpod.stateful_set(server, nodes, live=current)


def settings(spec: ClusterSpec) -> dict[str, str]:
    """Configuration files; `additionalConfig` comes last and wins."""
    configured = spec.rabbitmq
    plugins = ["rabbitmq_management", *(configured.additional_plugins if configured else [])]
    additional = (configured.additional_config if configured else None) or ""
    return {
        "start.sh": _START,
        "rabbitmq.conf": _SETTINGS + _listeners(spec) + additional,
        "advanced.config": (configured.advanced_config if configured else None) or "[].\n",
        "enabled_plugins": f"[{','.join(plugins)}].\n",
    }


def _listeners(spec: ClusterSpec) -> str:
    """A renewed certificate is read within two minutes: Erlang keeps files for that long."""
    plain = _PLAIN_LISTENERS if is_plain(spec) else _NO_PLAIN_LISTENERS
    return plain + (_TLS_LISTENERS if certificate(spec) else "")


def _storage(live: Object, persistence: Persistence) -> Storage:
    return Storage(
        claim="persistence",
        size=persistence.storage,
        storage_class=persistence.storage_class_name,
        retain=not serverpod.deletes_data(live),
    )
