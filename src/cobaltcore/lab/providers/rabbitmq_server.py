"""The objects of a RabbitMQ broker: settings, secrets, pod, Services. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.rabbitmq import ClusterSpec, Persistence
from cobaltcore.engine.desired import configmap, secret
from cobaltcore.lab.providers import rabbitmq_http, serverpod
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of

NAME = "rabbitmq"
VOLUME = "/var/lib/rabbitmq"
AMQP = 5672
CLIENT_PORTS = {"amqp": AMQP, "management": rabbitmq_http.PORT}
NODE_PORTS = {"epmd": 4369, "cluster-rpc": 25672}
DEFINITIONS = "definitions.json"
LOGIN_KEYS = {"username": "username", "password": "password"}

_SETTINGS = f"""\
listeners.tcp.default = {AMQP}
management.tcp.port = {rabbitmq_http.PORT}
load_definitions = {serverpod.SECRETS}/{DEFINITIONS}
vm_memory_high_watermark.absolute = 384MB
disk_free_limit.absolute = 50MB
queue_index_embed_msgs_below = 1KB
management_agent.disable_metrics_collector = true
log.console = true
log.console.level = info
"""

# The data of a node is known by the node's name, so the name has to outlive the pod. The whole
# name is in the pod's own hosts file: no name server is asked. The cookie is made at each start:
# on the volume the group could read it, which Erlang does not allow.
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

# Most services wait for their broker, and its first start takes much of a processor.
_RESOURCES = {"requests": {"cpu": "500m", "memory": "160Mi"}, "limits": {"memory": "1Gi"}}


def labels(live: Object) -> dict[str, str]:
    """The labels of everything that belongs to a broker."""
    return {
        "app.kubernetes.io/name": live["metadata"]["name"],
        "app.kubernetes.io/component": NAME,
        "app.kubernetes.io/part-of": NAME,
    }


def stateful_set_key(key: Key) -> Key:
    """The StatefulSet of a broker."""
    return Key(key.namespace, f"{key.name}-server")


def login_key(key: Key) -> Key:
    """The Secret with the administrator's account."""
    return Key(key.namespace, f"{key.name}-default-user")


def administrator(live: Object, password: str) -> Desired:
    """The administrator's account as the real operator writes it.

    The name is the same whenever the broker is made anew, so that no earlier account is left.
    """
    key = key_of(live)
    username = f"default_user_{digest(key)[:24]}"
    host = f"{key.name}.{key.namespace}.svc"
    values = {
        "username": username,
        "password": password,
        "host": host,
        "port": str(AMQP),
        "provider": NAME,
        "type": NAME,
        "connection_string": f"amqp://{username}:{password}@{host}:{AMQP}/",
        "default_user.conf": f"default_user = {username}\ndefault_pass = {password}\n",
    }
    return secret.secret(login_key(key), values, labels=labels(live))


def objects(
    live: Object,
    spec: ClusterSpec,
    *,
    image: str,
    login: tuple[str, str],
    known: Object | None,
) -> Iterator[Desired]:
    """Everything that a broker consists of; `known` is its StatefulSet as it is now."""
    key, marks = key_of(live), labels(live)
    prefix = Key(key.namespace, f"{key.name}-server-conf")
    configuration = configmap.config_map(prefix, settings(spec), marks)
    content = {DEFINITIONS: rabbitmq_http.definitions(*login)}
    init = secret.secret(Key(key.namespace, f"{key.name}-init"), content, labels=marks)
    nodes = f"{key.name}-nodes"
    server = serverpod.Server(
        name=NAME,
        key=stateful_set_key(key),
        labels=marks,
        image=image,
        command=["sh", f"{serverpod.CONFIGURATION}/start.sh"],
        ports={**CLIENT_PORTS, **NODE_PORTS},
        configuration=configuration.key.name,
        secret=init.key.name,
        probes=serverpod.probes("amqp"),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        volume=_volume(live, spec.persistence or Persistence()),
        digest=digest(content),
    )
    yield configuration
    yield init
    yield serverpod.service(server, key.name, ports=CLIENT_PORTS)
    yield serverpod.service(server, nodes, ports=NODE_PORTS, headless=True, before_ready=True)
    yield serverpod.stateful_set(server, nodes, live=known)


def settings(spec: ClusterSpec) -> dict[str, str]:
    """Files of the broker; what the user adds comes last and counts."""
    given = spec.rabbitmq
    plugins = ["rabbitmq_management", *(given.additional_plugins if given else [])]
    added = (given.additional_config if given else None) or ""
    return {
        "start.sh": _START,
        "rabbitmq.conf": _SETTINGS + added,
        "advanced.config": (given.advanced_config if given else None) or "[].\n",
        "enabled_plugins": f"[{','.join(plugins)}].\n",
    }


def _volume(live: Object, persistence: Persistence) -> serverpod.Volume:
    return serverpod.Volume(
        claim="persistence",
        path=VOLUME,
        size=persistence.storage,
        storage_class=persistence.storage_class_name,
        keep=not serverpod.says_delete(live),
    )
