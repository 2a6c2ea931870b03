"""How a service reaches others: addresses and logins from the spec and the Secrets it names. Pure."""

from collections.abc import Iterator
from typing import TypeVar

from cobaltcore.api.blocks import (
    Database,
    KeystoneAuth,
    Messaging,
    ServerTls,
    ServiceSpec,
    TokenCache,
)
from cobaltcore.api.foreign.kubernetes import SECRET, STATEFUL_SET
from cobaltcore.api.foreign.mariadb import MARIADB
from cobaltcore.engine.definition import AnyScope, SecretNeed
from cobaltcore.engine.desired import database, messaging, names, secret
from cobaltcore.engine.desired.database import Account
from cobaltcore.runtime.meta import Object

T = TypeVar("T")
MEMCACHED_PORT = 11211
DEFAULT_REGION = "RegionOne"
CA_KEY = "ca.crt"
"""Key of a CA bundle in a Secret, unless the spec names another."""
DATABASE_CA = f"/etc/ssl/database/{CA_KEY}"
MESSAGING_CA = f"/etc/ssl/messaging/{CA_KEY}"


def required_database(scope: AnyScope) -> Database:
    """The database block of a service that has checked that there is one."""
    return _required(scope.spec.database, "database")


def required_messaging(scope: AnyScope) -> Messaging:
    """The messaging block of a service that has checked that there is one."""
    return _required(scope.spec.messaging, "messaging")


def required_keystone(scope: AnyScope) -> KeystoneAuth:
    """The keystone block of a service that has checked that there is one."""
    return _required(scope.spec.keystone, "keystone")


def backend_needs(spec: ServiceSpec) -> Iterator[SecretNeed]:
    """Secrets with the logins of database and broker."""
    if spec.database is not None:
        keys: tuple[str | tuple[str, ...], ...] = ("username", "password")
        if spec.database.cluster_ref is None and spec.database.host is None:
            keys = (*keys, "host")
        yield SecretNeed(spec.database.secret_ref.name, keys, "database login")
        yield from _authority(spec.database.tls, "CA of the database server")
    if spec.messaging is not None:
        login = spec.messaging.secret_ref.name
        yield SecretNeed(login, ("username", "password"), "RabbitMQ login")
        yield from _authority(spec.messaging.tls, "CA of RabbitMQ")


def _authority(tls: ServerTls | None, purpose: str) -> Iterator[SecretNeed]:
    if tls is not None:
        ref = tls.ca_secret_ref
        yield SecretNeed(ref.name, (ref.key or CA_KEY,), purpose)


def secret_needs(scope: AnyScope) -> Iterator[SecretNeed]:
    """Every Secret that must exist before the service can be configured."""
    yield from backend_needs(scope.spec)
    if scope.spec.keystone is not None:
        keys = ("application_credential_id", "application_credential_secret")
        name = scope.spec.keystone.app_credential_ref.secret
        yield SecretNeed(name, keys, "Keystone application credential")
        bundle = scope.spec.keystone.ca_secret_ref
        if bundle is not None:
            yield SecretNeed(bundle.name, (bundle.key or CA_KEY,), "CA bundle of Keystone")
    yield from scope.service.secrets(scope.spec)


def generated(scope: AnyScope) -> Iterator[SecretNeed]:
    """Secrets with passwords and keys that are created for the service."""
    yield from scope.service.passwords(scope.name, scope.spec)
    if scope.spec.cache is not None:
        yield SecretNeed(names.cache_secret(scope.name), (names.CACHE_SECRET_KEY,), "cache")


def cache_key(scope: AnyScope) -> str:
    """The key that the service encrypts what it caches with."""
    return value(scope, names.cache_secret(scope.name), names.CACHE_SECRET_KEY)


def secret_content(scope: AnyScope, name: str) -> Object | None:
    """A Secret of the namespace with its data."""
    return scope.observed.content(SECRET, scope.sibling(name))


def missing(scope: AnyScope, need: SecretNeed) -> list[str]:
    """What a Secret lacks, as sentences."""
    found = secret_content(scope, need.name)
    name = f"Secret {need.name!r} ({need.purpose})"
    if found is None:
        return [f"{name} does not exist"]
    needed = (key if isinstance(key, tuple) else (key,) for key in need.keys)
    faults = (_fault(found, keys) for keys in needed)
    return [f"{name} {fault}" for fault in faults if fault]


def _fault(found: Object, keys: tuple[str, ...]) -> str:
    """Why none of these keys can be used; empty if one can."""
    present = [key for key in keys if key in (found.get("data") or {})]
    faults = [secret.fault(found, key) for key in present]
    if "" in faults:
        return ""
    return faults[0] if faults else f"has no key {' or '.join(map(repr, keys))}"


def value(scope: AnyScope, name: str, key: str) -> str:
    """One value of a Secret that is known to exist."""
    found = secret.text(secret_content(scope, name), key)
    if found is None:
        raise LookupError(f"Secret {name!r} has no key {key!r}")
    return found


def database_account(scope: AnyScope) -> Account:
    """Where the service's database server is, and its login."""
    block = required_database(scope)
    login = block.secret_ref.name
    host, port = block.host or "", block.port or 3306
    if block.cluster_ref is not None:
        cluster = scope.observed.get(MARIADB, scope.sibling(block.cluster_ref.name))
        host = database.host(cluster) if cluster is not None else block.cluster_ref.name
    elif not host:
        host = value(scope, login, "host")
        port = int(secret.text(secret_content(scope, login), "port") or port)
    ca_file = DATABASE_CA if block.tls is not None else ""
    username, password = value(scope, login, "username"), value(scope, login, "password")
    return Account(host, port, username, password, ca_file)


def virtual_host(scope: AnyScope) -> str:
    """The virtual host that the service has for itself."""
    block = required_messaging(scope)
    return block.virtual_host or (scope.name if block.cluster_ref is not None else "/")


def brokers(scope: AnyScope) -> list[str]:
    """Host and port of every broker."""
    block = required_messaging(scope)
    if block.cluster_ref is not None:
        cluster = scope.sibling(block.cluster_ref.name)
        return messaging.hosts(cluster, encrypted=block.tls is not None)
    return list(block.hosts or ())


def transport_url(scope: AnyScope, virtual: str = "") -> str:
    """Where the service's broker is, with its login; its own virtual host or another."""
    login = required_messaging(scope).secret_ref.name
    username, password = value(scope, login, "username"), value(scope, login, "password")
    return messaging.transport_url(
        brokers(scope), username, password, virtual or virtual_host(scope)
    )


def cache_servers(scope: AnyScope, cache: TokenCache | None) -> list[str]:
    """The Memcached servers, one by one."""
    if cache is None:
        return []
    if cache.servers:
        return list(cache.servers)
    name = cache.cluster_ref.name if cache.cluster_ref else ""
    found = scope.observed.get(STATEFUL_SET, scope.sibling(name))
    if found is None:
        return []
    service = found["spec"]["serviceName"]
    return [
        f"{name}-{number}.{service}.{scope.namespace}.svc:{MEMCACHED_PORT}"
        for number in range(found["spec"].get("replicas", 1))
    ]


def credential_in_use(scope: AnyScope) -> str | None:
    """The application credential that the configuration holds."""
    if scope.spec.keystone is None:
        return None
    secret_name = scope.spec.keystone.app_credential_ref.secret
    return value(scope, secret_name, "application_credential_id")


def region(scope: AnyScope) -> str:
    """The region that the service belongs to."""
    keystone = scope.spec.keystone
    return (keystone.region if keystone else None) or DEFAULT_REGION


def has_ca(scope: AnyScope) -> bool:
    """Whether a CA bundle is configured for calls to other services."""
    return scope.spec.keystone is not None and scope.spec.keystone.ca_secret_ref is not None


def _required(block: T | None, name: str) -> T:
    if block is None:
        raise LookupError(f"spec.{name} is required")
    return block
