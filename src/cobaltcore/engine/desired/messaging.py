"""Objects that make a virtual host on a RabbitMQ, and the address to reach it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from cobaltcore.api.foreign import rabbitmq
from cobaltcore.runtime.meta import Desired, Key, Kind, Struct

PORT = 5672


def transport_url(hosts: Sequence[str], username: str, password: str, virtual_host: str) -> str:
    """The address of a virtual host on one or several brokers."""
    login = f"{quote(username, safe='')}:{quote(password, safe='')}"
    brokers = ",".join(f"{login}@{host}" for host in hosts)
    return f"rabbit://{brokers}/{quote(virtual_host.removeprefix('/'), safe='')}"


def objects(
    cluster: Key, name: str, *, virtual_host: str, login_secret: str, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """Virtual host, user and permission, all called `name`."""
    reference = rabbitmq.ClusterReference(name=cluster.name)

    def made(kind: Kind, spec: Struct) -> Desired:
        meta = {"name": name, "namespace": cluster.namespace, "labels": dict(labels)}
        body: dict[str, Any] = {"metadata": meta, "spec": msgspec.to_builtins(spec)}
        return Desired(kind, body)

    yield made(
        rabbitmq.VHOST,
        rabbitmq.VhostSpec(name=virtual_host, rabbitmq_cluster_reference=reference),
    )
    yield made(
        rabbitmq.USER,
        rabbitmq.UserSpec(
            rabbitmq_cluster_reference=reference,
            import_credentials_secret=rabbitmq.LocalRef(name=login_secret),
        ),
    )
    yield made(
        rabbitmq.PERMISSION,
        rabbitmq.PermissionSpec(
            rabbitmq_cluster_reference=reference,
            vhost=virtual_host,
            user_reference=rabbitmq.LocalRef(name=name),
            permissions=rabbitmq.Permissions(configure=".*", write=".*", read=".*"),
        ),
    )


def hosts(cluster: Key) -> list[str]:
    """The Service of a broker cluster."""
    return [f"{cluster.name}.{cluster.namespace}.svc:{PORT}"]
