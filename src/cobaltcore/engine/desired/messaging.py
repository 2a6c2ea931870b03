"""Virtual host, user and permission on a RabbitMQ, and the transport URL. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from cobaltcore.api.foreign import rabbitmq
from cobaltcore.runtime.meta import Desired, Key, Kind, Struct

PORT = 5672
TLS_PORT = 5671


def transport_url(hosts: Sequence[str], username: str, password: str, virtual_host: str) -> str:
    """The address of a virtual host on one or several brokers."""
    login = f"{quote(username, safe='')}:{quote(password, safe='')}"
    brokers = ",".join(f"{login}@{host}" for host in hosts)
    return f"rabbit://{brokers}/{quote(virtual_host.removeprefix('/'), safe='')}"


def user(cluster: Key, name: str, login_secret: str, labels: Mapping[str, str]) -> Desired:
    """The user that a service logs in as."""
    spec = rabbitmq.UserSpec(
        rabbitmq_cluster_reference=rabbitmq.ClusterReference(name=cluster.name),
        import_credentials_secret=rabbitmq.LocalRef(name=login_secret),
    )
    return _desired(rabbitmq.USER, Key(cluster.namespace, name), spec, labels)


def objects(
    cluster: Key, name: str, *, virtual_host: str, user: str, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """A virtual host and the permission of `user` on it, both called `name`."""
    reference = rabbitmq.ClusterReference(name=cluster.name)
    key = Key(cluster.namespace, name)
    spec = rabbitmq.VhostSpec(name=virtual_host, rabbitmq_cluster_reference=reference)
    yield _desired(rabbitmq.VHOST, key, spec, labels)
    permission = rabbitmq.PermissionSpec(
        rabbitmq_cluster_reference=reference,
        vhost=virtual_host,
        user_reference=rabbitmq.LocalRef(name=user),
        permissions=rabbitmq.Permissions(configure=".*", write=".*", read=".*"),
    )
    yield _desired(rabbitmq.PERMISSION, key, permission, labels)


def _desired(kind: Kind, key: Key, spec: Struct, labels: Mapping[str, str]) -> Desired:
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    body: dict[str, Any] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
    return Desired(kind, body)


def hosts(cluster: Key, *, encrypted: bool = False) -> list[str]:
    """The Service of a broker cluster."""
    port = TLS_PORT if encrypted else PORT
    return [f"{cluster.name}.{cluster.namespace}.svc:{port}"]
