"""One server as a StatefulSet with a volume, and the Services in front of it. Pure.

As pods of OpenStack services, servers run as an unprivileged user, without a service account token
and with a read-only root file system.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from cobaltcore.api.foreign import kubernetes
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.api.pods import Resources
from cobaltcore.deploy import workload
from cobaltcore.engine.desired import names, statefulset, volumes
from cobaltcore.engine.desired.containers import Container, Port
from cobaltcore.engine.desired.placement import LabelRequirement, Placement
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Exec, Probe, Probes, TcpSocket
from cobaltcore.engine.desired.statefulset import Storage
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltlab import manifests

CONFIGURATION = "/etc/cobaltcore"
SECRETS = "/etc/cobaltcore-secrets"
CERTIFICATE = "/etc/cobaltcore-tls"
"""Where the Secret with tls.crt, tls.key and ca.crt is mounted, if the server has one."""
DELETE = "Delete"
AWAY_FROM_SERVICES = (LabelRequirement(manifests.CONTROL_PLANE, "DoesNotExist"),)
"""OpenStack services can run on one node of a lab only; servers leave its capacity to them."""

Ports = Mapping[str, int]
Address = Callable[[Object | None], str]
"""Address of a Service; empty while it has none."""


@dataclass(frozen=True, slots=True)
class Server:
    """One program with its ports, configuration, secrets and data."""

    name: str
    key: Key
    labels: Mapping[str, str]
    """Also the selector: immutable, and unique to this server."""
    image: str
    command: Sequence[str]
    ports: Ports
    configuration: str
    secret: str
    probes: Probes
    resources: Resources
    storage: Storage | None = None
    data_path: str = ""
    """Where the storage is mounted."""
    digest: str = ""
    """Of the secrets: a change replaces the pod."""
    sidecar: Sequence[str] = ()
    """Command of a sidecar with the same configuration and secrets; none by default."""
    node_selector: Mapping[str, str] | None = None
    certificate: str = ""
    """Secret with the server's certificate; none: it speaks plain text."""


def stateful_set(server: Server, service: str, *, live: Object | None) -> Desired:
    """One pod with one volume; a live volumeClaimTemplate stays, because it is immutable."""
    return statefulset.stateful_set(
        server.key,
        replicas=1,
        selector=server.labels,
        pod=_pod(server),
        service=service,
        storage=server.storage.kept_from(live) if server.storage else None,
    )


def service(
    server: Server,
    name: str,
    *,
    ports: Ports,
    headless: bool = False,
    before_ready: bool = False,
) -> Desired:
    """A Service for the server; a headless one gives its pod a DNS name."""
    spec: dict[str, Any] = {
        "selector": dict(server.labels),
        "ports": [
            {"name": each, "port": port, "targetPort": port, "protocol": "TCP"}
            for each, port in ports.items()
        ],
    }
    if headless:
        spec["clusterIP"] = "None"
    if before_ready:
        spec["publishNotReadyAddresses"] = True
    return Desired(
        SERVICE, {"metadata": _meta(server, Key(server.key.namespace, name)), "spec": spec}
    )


def deletes_data(obj: Object) -> bool:
    """Whether the annotation of an object asks for its data to be deleted with it."""
    return (obj["metadata"].get("annotations") or {}).get(names.DELETE_DATA) == "true"


def cluster_ip(service: Object | None) -> str:
    """The cluster IP of a Service: in the lab reachable from pods and from the host."""
    address = ((service or {}).get("spec") or {}).get("clusterIP") or ""
    return "" if address == "None" else str(address)


def resources(configured: kubernetes.Resources | None, default: Resources) -> Resources:
    """The configured resources, else a tested size."""
    if configured is None:
        return default
    return msgspec.convert(msgspec.to_builtins(configured), Resources)


def probes(port: str, command: Sequence[str] = ()) -> Probes:
    """Startup and readiness by `command` or port, liveness by port."""
    check = Probe(Exec(command) if command else TcpSocket(port), timeout_seconds=10)
    return Probes(
        startup=replace(check, period_seconds=1, failure_threshold=300),
        readiness=replace(check, period_seconds=10, failure_threshold=3),
        liveness=Probe(TcpSocket(port), period_seconds=30, failure_threshold=4),
    )


def _pod(server: Server) -> Pod:
    return Pod(
        containers=list(_containers(server)),
        labels=server.labels,
        annotations={names.SECRET_DIGEST: server.digest},
        placement=Placement(node_selector=server.node_selector, preferred=AWAY_FROM_SERVICES),
        grace_period_seconds=60,
    )


def _containers(server: Server) -> Iterator[Container]:
    configuration = volumes.ConfigMap(server.configuration)
    files = [
        volumes.Volume("configuration", CONFIGURATION, configuration),
        volumes.Volume("secrets", SECRETS, volumes.Secret(server.secret)),
    ]
    if server.certificate:
        files.append(volumes.Volume("tls", CERTIFICATE, volumes.Secret(server.certificate)))
    data = []
    if server.storage is not None:
        template = volumes.ClaimTemplate()
        data.append(volumes.Volume(server.storage.claim, server.data_path, template))
    main = Container(
        name=server.name,
        image=workload.parse_image(server.image),
        command=server.command,
        volumes=[*files, *data],
        ports=[Port(name, number) for name, number in server.ports.items()],
        probes=server.probes,
        resources=server.resources,
        pull_policy="IfNotPresent",
    )
    yield main
    if server.sidecar:
        yield replace(
            main,
            name=f"{server.name}-sidecar",
            command=server.sidecar,
            volumes=files,
            ports=(),
            probes=Probes(),
        )


def _meta(server: Server, key: Key) -> dict[str, Any]:
    return {"name": key.name, "namespace": key.namespace, "labels": dict(server.labels)}
