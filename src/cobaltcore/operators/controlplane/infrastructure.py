"""Databases, brokers and caches of a control plane. Pure."""

import base64
from collections.abc import Iterable, Iterator

import msgspec

from cobaltcore.api.foreign import mariadb, rabbitmq, valkey
from cobaltcore.api.foreign.kubernetes import SECRET, STATEFUL_SET, Resources
from cobaltcore.api.pods import Resources as PodResources
from cobaltcore.engine.desired import memcached, names, secret
from cobaltcore.engine.desired.names import MARIADB, MEMCACHED, RABBITMQ, VALKEY
from cobaltcore.engine.verdict import Blocked, Ready, Verdict, Waiting
from cobaltcore.operators.controlplane import certificates
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired

DEFAULT_STORAGE = "10Gi"
PASSWORD_BYTES = 24


def login(view: View, name: str, username: str) -> Desired:
    """A user name with a password that is generated once and then kept."""
    return password(view, name, "password", username=username)


def password(view: View, name: str, key: str, **further: str) -> Desired:
    """A Secret with a random value, generated once and then kept."""
    value = base64.urlsafe_b64encode(view.random(PASSWORD_BYTES)).decode()
    desired = secret.secret(
        view.sibling(name), {**further, key: value}, labels=view.labels("credentials")
    )
    return desired._replace(once=True, kept=view.keeps_data)


def mariadb_objects(view: View) -> Iterator[Desired]:
    """The database server."""
    settings = view.spec.infrastructure.mariadb
    replicas = view.replicas(settings.replicas, 3)
    if not _is_root_lost(view):
        created = password(view, names.MARIADB_ROOT, "password")
        # Operators of MariaDB generate it for a server that they get without one.
        yield created._replace(adopts=(mariadb.MARIADB.kind,))
    root = mariadb.GeneratedSecretKeyRef(
        name=names.MARIADB_ROOT, key="password", generate=_is_generated(view)
    )
    spec = mariadb.MariaDBSpec(
        replicas=replicas,
        root_password_secret_key_ref=root,
        storage=mariadb.Storage(
            size=settings.storage_size or DEFAULT_STORAGE,
            storage_class_name=settings.storage_class,
            pvc_retention_policy=None
            if view.keeps_data
            else mariadb.ClaimRetention(when_deleted="Delete"),
        ),
        galera=mariadb.Galera(enabled=True) if replicas > 1 else None,
        resources=_resources(settings.resources),
        tls=_mariadb_tls(view),
    )
    yield view.child(mariadb.MARIADB, MARIADB, spec, MARIADB)


def _mariadb_tls(view: View) -> mariadb.Tls:
    """Set when it is off as well: newer operators of MariaDB encrypt without being asked."""
    if not certificates.is_on(view):
        return mariadb.Tls(enabled=False)
    issued = mariadb.SecretRef(name=names.certificate_secret(MARIADB))
    return mariadb.Tls(
        enabled=True,
        required=True,
        server_ca_secret_ref=issued,
        server_cert_secret_ref=issued,
    )


def mariadb_ready(view: View) -> Verdict:
    """Whether the server is ready; it is not safe without the password that its volumes have."""
    if _is_root_lost(view):
        own = names.MARIADB_ROOT
        return Blocked(
            "KeysLost",
            f"Secret {own!r} does not exist any more, and the volumes of MariaDB {MARIADB!r} have "
            "the password that was in it. Restore it from a backup; or set another password for "
            "root in the server, and create the Secret with it: kubectl create secret generic "
            f"{own} --from-file=password",
        )
    return is_ready(view, mariadb.MARIADB, MARIADB)


def _is_generated(view: View) -> bool:
    """The reference of a server that exists cannot change; for others the Secret is ours."""
    live = view.get(mariadb.MARIADB, MARIADB) or {}
    reference = (live.get("spec") or {}).get("rootPasswordSecretKeyRef") or {}
    return bool(reference.get("generate"))


def _is_root_lost(view: View) -> bool:
    return (
        view.get(SECRET, names.MARIADB_ROOT) is None
        and view.get(mariadb.MARIADB, MARIADB) is not None
    )


def rabbitmq_objects(view: View) -> Iterator[Desired]:
    """The message broker."""
    settings = view.spec.infrastructure.rabbitmq
    spec = rabbitmq.ClusterSpec(
        replicas=view.replicas(settings.replicas, 3),
        persistence=rabbitmq.Persistence(
            storage=settings.storage_size or DEFAULT_STORAGE,
            storage_class_name=settings.storage_class,
        ),
        rabbitmq=rabbitmq.Configuration(
            additional_config="cluster_partition_handling = pause_minority\n"
        ),
        resources=_resources(settings.resources),
        tls=rabbitmq.Tls(
            secret_name=names.certificate_secret(RABBITMQ), disable_non_tls_listeners=True
        )
        if certificates.is_on(view)
        else None,
    )
    yield _with_data(view, view.child(rabbitmq.CLUSTER, RABBITMQ, spec, RABBITMQ))


def valkey_objects(view: View) -> Iterator[Desired]:
    """The key-value store."""
    settings = view.spec.infrastructure.valkey
    if settings is None:
        return
    spec = valkey.ValkeySpec(
        replicas=view.replicas(settings.replicas, 3),
        sentinel=valkey.Sentinel(enabled=settings.sentinel.enabled),
        persistence=valkey.Persistence(
            enabled=True,
            size=settings.storage_size or DEFAULT_STORAGE,
            storage_class=settings.storage_class,
        ),
        resources=_resources(settings.resources),
        tls=_valkey_tls(view),
    )
    yield _with_data(view, view.child(valkey.VALKEY, VALKEY, spec, VALKEY))


def _valkey_tls(view: View) -> valkey.Tls | None:
    if not certificates.is_on(view):
        return None
    signer = certificates.issuer(view)
    return valkey.Tls(
        enabled=True,
        cert_manager=valkey.CertManager(
            issuer=valkey.Issuer(name=signer.name, kind=signer.kind, group="cert-manager.io")
        ),
    )


def memcached_objects(view: View) -> Iterable[Desired]:
    """The cache servers."""
    settings = view.spec.infrastructure.memcached
    servers = memcached.Memcached(
        image=view.image(MEMCACHED),
        replicas=view.replicas(settings.replicas, 3),
        memory=str(settings.memory or "256Mi"),
        resources=settings.resources,
        pull_secrets=view.spec.global_.image_pull_secrets,
    )
    return memcached.objects(view.sibling(MEMCACHED), servers, view.labels(MEMCACHED))


def memcached_ready(view: View) -> Verdict:
    """Whether the servers run."""
    found = view.get(STATEFUL_SET, MEMCACHED)
    wanted = view.replicas(view.spec.infrastructure.memcached.replicas, 3)
    ready = ((found or {}).get("status") or {}).get("readyReplicas", 0)
    if ready >= wanted:
        return Ready("Running")
    return Waiting("Starting", f"{ready}/{wanted} pods of {MEMCACHED!r} ready")


def rabbitmq_ready(view: View) -> Verdict:
    """Whether all brokers are there."""
    return is_ready(view, rabbitmq.CLUSTER, RABBITMQ, condition="AllReplicasReady")


def _with_data(view: View, server: Desired) -> Desired:
    """Its kind has no field for what becomes of its volumes when it is deleted."""
    if view.keeps_data:
        return server
    metadata = {**server.body["metadata"], "annotations": {names.DELETE_DATA: "true"}}
    return server._replace(body={**server.body, "metadata": metadata})


def _resources(configured: PodResources | None) -> Resources | None:
    return (
        msgspec.convert(msgspec.to_builtins(configured), Resources)
        if configured is not None
        else None
    )
