"""The objects of a Valkey server: settings, password, pod, Services, binding. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.valkey import Persistence, ValkeySpec
from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired import configmap, names, secret
from cobaltcore.engine.desired.statefulset import Storage
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of
from cobaltlab.providers import serverpod

NAME = "valkey"
VOLUME = "/var/lib/valkey"
SCRATCH = "/tmp"  # noqa: S108 an empty volume of the pod
PORT = 6379
SENTINEL_PORT = 26379
PRIMARY_SET = "myprimary"
PASSWORD = "valkey-password"  # noqa: S105 the name of a key
DEFAULT_SIZE = "8Gi"

_START = f"""\
set -eu
exec valkey-server {serverpod.SECRETS}/valkey.conf
"""

# Sentinel writes its state into its own configuration file.
_START_SENTINEL = f"""\
set -eu
umask 077
cat {serverpod.SECRETS}/sentinel.conf > /tmp/sentinel.conf
exec valkey-sentinel /tmp/sentinel.conf
"""

_RESOURCES = Resources(requests={"cpu": "20m", "memory": "32Mi"}, limits={"memory": "512Mi"})


def full_name(key: Key) -> str:
    """The prefix of the names of all objects of a server."""
    return f"valkey-{key.name}"


def stateful_set_key(key: Key) -> Key:
    return Key(key.namespace, f"{full_name(key)}-primary")


def password_key(key: Key) -> Key:
    return Key(key.namespace, full_name(key))


def labels(live: Object) -> dict[str, str]:
    return names.selector(NAME, live["metadata"]["name"], "primary")


def has_sentinel(spec: ValkeySpec) -> bool:
    return spec.sentinel is not None and spec.sentinel.enabled


def objects(
    live: Object, spec: ValkeySpec, *, image: str, password: str, current: Object | None
) -> Iterator[Desired]:
    """Everything that a server consists of; `current` is its live StatefulSet."""
    key, labels_ = key_of(live), labels(live)
    prefix, sentinel = full_name(key), has_sentinel(spec)
    scripts = {"start.sh": _START, "sentinel.sh": _START_SENTINEL}
    scripts_key = Key(key.namespace, f"{prefix}-scripts")
    configuration = configmap.config_map(scripts_key, scripts, labels_)
    content = {"valkey.conf": settings(spec, password)}
    if sentinel:
        content["sentinel.conf"] = sentinel_settings(key, password)
    init = secret.secret(Key(key.namespace, f"{prefix}-init"), content, labels=labels_)
    ports = {"valkey": PORT, **({"sentinel": SENTINEL_PORT} if sentinel else {})}
    script = f"{serverpod.CONFIGURATION}/%s.sh"
    server = serverpod.Server(
        name=NAME,
        key=stateful_set_key(key),
        labels=labels_,
        image=image,
        command=["sh", script % "start"],
        sidecar=["sh", script % "sentinel"] if sentinel else [],
        ports=ports,
        configuration=configuration.key.name,
        secret=init.key.name,
        probes=serverpod.probes("valkey"),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        storage=_storage(live, spec.persistence),
        data_path=VOLUME,
        digest=digest(content),
    )
    headless = f"{prefix}-headless"
    yield configuration
    yield init
    for name in (f"{prefix}-primary", f"{prefix}-replicas"):
        yield serverpod.service(server, name, ports={"valkey": PORT})
    if sentinel:
        yield serverpod.service(server, prefix, ports=ports)
    yield serverpod.service(server, headless, ports=ports, headless=True, before_ready=True)
    yield serverpod.stateful_set(server, headless, live=current)
    yield binding(live, spec, password)


def binding(live: Object, spec: ValkeySpec, password: str) -> Desired:
    """The binding Secret for clients, with the keys of the real operator."""
    key = key_of(live)
    name = spec.binding.secret_name if spec.binding is not None else None
    values = {"password": password}
    if has_sentinel(spec):
        host = _host(key, full_name(key))
        values |= {
            "sentinelEnabled": "true",
            "host": host,
            "port": str(PORT),
            "sentinelHost": host,
            "sentinelPort": str(SENTINEL_PORT),
            "primaryName": PRIMARY_SET,
        }
    else:
        values |= {
            "primaryHost": _host(key, f"{full_name(key)}-primary"),
            "primaryPort": str(PORT),
            "replicaHost": _host(key, f"{full_name(key)}-replicas"),
            "replicaPort": str(PORT),
        }
    binding_key = Key(key.namespace, name or f"{full_name(key)}-binding")
    return secret.secret(binding_key, values, labels=labels(live))


def settings(spec: ValkeySpec, password: str) -> str:
    """valkey.conf: reachable on all addresses, password required."""
    persists = spec.persistence is not None and spec.persistence.enabled
    lines = [
        f"port {PORT}",
        "bind * -::*",
        "protected-mode no",
        f"requirepass {quoted(password)}",
        f"primaryauth {quoted(password)}",
        f"dir {VOLUME if persists else SCRATCH}",
        f"appendonly {'yes' if persists else 'no'}",
        'save ""',
    ]
    return "\n".join(lines) + "\n"


def sentinel_settings(key: Key, password: str) -> str:
    """sentinel.conf: a quorum of one, for clients that look up the primary."""
    lines = [
        f"port {SENTINEL_PORT}",
        "bind * -::*",
        "protected-mode no",
        "dir /tmp",
        "sentinel resolve-hostnames yes",
        "sentinel announce-hostnames yes",
        f"sentinel monitor {PRIMARY_SET} {_host(key, f'{full_name(key)}-primary')} {PORT} 1",
        f"sentinel auth-pass {PRIMARY_SET} {quoted(password)}",
        f"requirepass {quoted(password)}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Quote any value for a configuration file."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in text.encode()
    )
    return f'"{plain}"'


def _host(key: Key, name: str) -> str:
    return f"{name}.{key.namespace}.svc.cluster.local"


def _storage(live: Object, persistence: Persistence | None) -> Storage | None:
    if persistence is None or not persistence.enabled:
        return None
    return Storage(
        claim="valkey-data",
        size=persistence.size or DEFAULT_SIZE,
        storage_class=persistence.storage_class,
        retain=not serverpod.deletes_data(live),
    )
