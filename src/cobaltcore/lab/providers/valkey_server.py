"""The objects of a Valkey server: settings, password, pod, Services, binding. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign.valkey import Persistence, ValkeySpec
from cobaltcore.engine.desired import configmap, names, secret
from cobaltcore.lab.providers import serverpod
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired, Key, Object, key_of

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

# Sentinel writes what it learns into its own settings.
_START_SENTINEL = f"""\
set -eu
umask 077
cat {serverpod.SECRETS}/sentinel.conf > /tmp/sentinel.conf
exec valkey-sentinel /tmp/sentinel.conf
"""

_RESOURCES = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "512Mi"}}


def full_name(key: Key) -> str:
    """The name that all objects of a server start with."""
    return f"valkey-{key.name}"


def stateful_set_key(key: Key) -> Key:
    """The StatefulSet of a server."""
    return Key(key.namespace, f"{full_name(key)}-primary")


def password_key(key: Key) -> Key:
    """The Secret with the password."""
    return Key(key.namespace, full_name(key))


def labels(live: Object) -> dict[str, str]:
    """The labels of everything that belongs to a server."""
    return names.selector(NAME, live["metadata"]["name"], "primary")


def has_sentinel(spec: ValkeySpec) -> bool:
    """Whether clients ask a sentinel for the primary."""
    return spec.sentinel is not None and spec.sentinel.enabled


def objects(
    live: Object, spec: ValkeySpec, *, image: str, password: str, known: Object | None
) -> Iterator[Desired]:
    """Everything that a server consists of; `known` is its StatefulSet as it is now."""
    key, marks = key_of(live), labels(live)
    prefix, sentinel = full_name(key), has_sentinel(spec)
    scripts = {"start.sh": _START, "sentinel.sh": _START_SENTINEL}
    place = Key(key.namespace, f"{prefix}-scripts")
    configuration = configmap.config_map(place, scripts, marks)
    content = {"valkey.conf": settings(spec, password)}
    if sentinel:
        content["sentinel.conf"] = sentinel_settings(key, password)
    init = secret.secret(Key(key.namespace, f"{prefix}-init"), content, labels=marks)
    ports = {"valkey": PORT, **({"sentinel": SENTINEL_PORT} if sentinel else {})}
    run = f"{serverpod.CONFIGURATION}/%s.sh"
    server = serverpod.Server(
        name=NAME,
        key=stateful_set_key(key),
        labels=marks,
        image=image,
        command=["sh", run % "start"],
        companion=["sh", run % "sentinel"] if sentinel else [],
        ports=ports,
        configuration=configuration.key.name,
        secret=init.key.name,
        probes=serverpod.probes("valkey"),
        resources=serverpod.resources(spec.resources, _RESOURCES),
        volume=_volume(live, spec.persistence),
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
    yield serverpod.stateful_set(server, headless, live=known)
    yield binding(live, spec, password)


def binding(live: Object, spec: ValkeySpec, password: str) -> Desired:
    """What clients need to connect, under the real operator's keys."""
    key = key_of(live)
    given = spec.binding.secret_name if spec.binding is not None else None
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
    name = given or f"{full_name(key)}-binding"
    return secret.secret(Key(key.namespace, name), values, labels=labels(live))


def settings(spec: ValkeySpec, password: str) -> str:
    """A server that answers to everybody who knows the password."""
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
    """One sentinel that tells clients where the one primary is."""
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
    """A value with any characters, as the settings want it."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        for byte in text.encode()
    )
    return f'"{plain}"'


def _host(key: Key, name: str) -> str:
    return f"{name}.{key.namespace}.svc.cluster.local"


def _volume(live: Object, persistence: Persistence | None) -> serverpod.Volume | None:
    if persistence is None or not persistence.enabled:
        return None
    return serverpod.Volume(
        claim="valkey-data",
        path=VOLUME,
        size=persistence.size or DEFAULT_SIZE,
        storage_class=persistence.storage_class,
        keep=not serverpod.says_delete(live),
    )
