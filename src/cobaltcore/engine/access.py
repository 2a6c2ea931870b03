"""How a service reaches others: addresses and logins from the spec and the Secrets it names. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.blocks import Cache, Database, KeystoneAuth, Messaging
from cobaltcore.api.foreign.kubernetes import SECRET, STATEFUL_SET
from cobaltcore.api.foreign.mariadb import MARIADB
from cobaltcore.engine.definition import Facts, SecretNeed
from cobaltcore.engine.desired import database, messaging, secret
from cobaltcore.engine.desired.database import Account
from cobaltcore.runtime.meta import Object

MEMCACHED_PORT = 11211


def backend_needs(spec: Any) -> Iterator[SecretNeed]:
    """Secrets with the logins of database and broker."""
    given: Database | None = getattr(spec, "database", None)
    if given is not None:
        keys: tuple[str | tuple[str, ...], ...] = ("username", "password")
        if given.cluster_ref is None and given.host is None:
            keys = (*keys, "host")
        yield SecretNeed(given.secret_ref.name, keys, "database login")
    broker: Messaging | None = getattr(spec, "messaging", None)
    if broker is not None:
        yield SecretNeed(broker.secret_ref.name, ("username", "password"), "broker login")


def secret_needs(facts: Facts) -> Iterator[SecretNeed]:
    """Every Secret that must exist before the service can be configured."""
    spec = facts.spec
    yield from backend_needs(spec)
    auth: KeystoneAuth | None = getattr(spec, "keystone", None)
    if auth is not None:
        keys = ("application_credential_id", "application_credential_secret")
        yield SecretNeed(auth.app_credential_ref.secret, keys, "Keystone login")
    yield from facts.service.secrets(spec)


def secret_content(facts: Facts, name: str) -> Object | None:
    """A Secret of the namespace with its data."""
    return facts.observed.content(SECRET, facts.beside(name))


def lacks(facts: Facts, need: SecretNeed) -> list[str]:
    """What is missing of a Secret, in words."""
    found = secret_content(facts, need.name)
    if found is None:
        return [f"Secret {need.name!r} ({need.purpose}) does not exist"]
    there = secret.texts(found)
    return [
        f"Secret {need.name!r} ({need.purpose}) has no key {' or '.join(map(repr, keys))}"
        for keys in (key if isinstance(key, tuple) else (key,) for key in need.keys)
        if not any(key in there for key in keys)
    ]


def value(facts: Facts, name: str, key: str) -> str:
    """One value of a Secret that is known to be there."""
    found = secret.text(secret_content(facts, name), key)
    if found is None:
        raise LookupError(f"Secret {name!r} has no key {key!r}")
    return found


def database_account(facts: Facts) -> Account:
    """Where the service's database server is, and its login."""
    given: Database = facts.spec.database
    login = given.secret_ref.name
    host, port = given.host or "", given.port or 3306
    if given.cluster_ref is not None:
        cluster = facts.observed.get(MARIADB, facts.beside(given.cluster_ref.name))
        host = database.host(cluster) if cluster is not None else given.cluster_ref.name
    elif not host:
        host = value(facts, login, "host")
        port = int(secret.text(secret_content(facts, login), "port") or port)
    return Account(host, port, value(facts, login, "username"), value(facts, login, "password"))


def virtual_host(facts: Facts) -> str:
    """The virtual host that the service has for itself."""
    given: Messaging = facts.spec.messaging
    default = facts.key.name if given.cluster_ref is not None else "/"
    return given.virtual_host or default


def brokers(facts: Facts) -> list[str]:
    """Host and port of every broker."""
    given: Messaging = facts.spec.messaging
    if given.cluster_ref is not None:
        return messaging.hosts(facts.beside(given.cluster_ref.name))
    return list(given.hosts or ())


def transport_url(facts: Facts, virtual: str = "") -> str:
    """Where the service's broker is, with its login; its own virtual host or another."""
    login = facts.spec.messaging.secret_ref.name
    username, password = value(facts, login, "username"), value(facts, login, "password")
    virtual = virtual or virtual_host(facts)
    return messaging.transport_url(brokers(facts), username, password, virtual)


def cache_servers(facts: Facts, cache: Cache | None) -> list[str]:
    """The Memcached servers, one by one."""
    if cache is None:
        return []
    if cache.servers:
        return list(cache.servers)
    name = cache.cluster_ref.name if cache.cluster_ref else ""
    found = facts.observed.get(STATEFUL_SET, facts.beside(name))
    if found is None:
        return []
    service = found["spec"]["serviceName"]
    return [
        f"{name}-{number}.{service}.{facts.key.namespace}.svc:{MEMCACHED_PORT}"
        for number in range(found["spec"].get("replicas", 1))
    ]


def credential_in_use(facts: Facts) -> dict[str, str]:
    """The application credential that the configuration holds, as the status tells it."""
    auth: KeystoneAuth | None = getattr(facts.spec, "keystone", None)
    if auth is None:
        return {}
    id_ = value(facts, auth.app_credential_ref.secret, "application_credential_id")
    return {"applicationCredentialID": id_}


def region(spec: Any) -> str:
    """The region that the service belongs to."""
    auth: KeystoneAuth | None = getattr(spec, "keystone", None)
    return (auth.region if auth else None) or "RegionOne"
