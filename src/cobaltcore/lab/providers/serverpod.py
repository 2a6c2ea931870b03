"""One server as a StatefulSet with a volume, and the Services in front of it. Pure.

What the pods of OpenStack services have holds for servers, too: an unprivileged user, no token,
a root file system that cannot be written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from cobaltcore.api.base import Quantity
from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.kubernetes import SERVICE, STATEFUL_SET, Resources
from cobaltcore.engine.desired import names, pods
from cobaltcore.lab import manifests
from cobaltcore.runtime.meta import Desired, Key, Object

DELETE_DATA = "c5c3.io/delete-data"
CONFIGURATION = "/etc/cobaltcore"
SECRETS = "/etc/cobaltcore-secrets"
KEEP, REMOVE = "Retain", "Delete"
AWAY_FROM_SERVICES: Mapping[str, Any] = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [
                        {"key": manifests.CONTROL_PLANE, "operator": "DoesNotExist"}
                    ]
                },
            }
        ]
    }
}
"""Services have to run on one node of a lab, and servers that can run anywhere would crowd them out."""

Ports = Mapping[str, int]
Address = Callable[[Object | None], str]
"""Where a Service is reached; empty if it has no address yet."""


@dataclass(frozen=True, slots=True)
class Volume:
    """Where the data of a server is, and what becomes of it when the server is deleted."""

    claim: str
    path: str
    size: Quantity
    storage_class: str | None = None
    keep: bool = True


@dataclass(frozen=True, slots=True)
class Server:
    """A program that serves ports, with its settings, its secrets and its data."""

    name: str
    key: Key
    labels: Mapping[str, str]
    """They never change, and no other pod has them."""
    image: str
    command: Sequence[str]
    ports: Ports
    configuration: str
    secret: str
    probes: Mapping[str, Any]
    resources: Mapping[str, Any]
    volume: Volume | None = None
    digest: str = ""
    """Changes when the secrets do: then the pod is replaced."""
    companion: Sequence[str] = ()
    """A second program of the pod, with the same settings and secrets; none by default."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def stateful_set(server: Server, service: str, *, live: Object | None) -> Desired:
    """One pod with one volume; of a live one the claim stays, because it cannot be changed."""
    volume = server.volume
    spec: dict[str, Any] = {
        "serviceName": service,
        "replicas": 1,
        # In order, a pod that never became ready would never get a better template.
        "podManagementPolicy": "Parallel",
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": dict(server.labels)},
        "template": _template(server),
    }
    if volume is not None:
        volume = _as_claimed(volume, live)
        policy = KEEP if volume.keep else REMOVE
        spec["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": policy,
            "whenScaled": KEEP,
        }
        spec["volumeClaimTemplates"] = [_claim(volume, server.labels)]
    return Desired(STATEFUL_SET, {"metadata": _meta(server, server.key), "spec": spec})


def service(
    server: Server,
    name: str,
    *,
    ports: Ports,
    headless: bool = False,
    before_ready: bool = False,
) -> Desired:
    """An address for the server; a headless one gives its pod a name."""
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


def says_delete(obj: Object) -> bool:
    """Whether an object's annotation says that its data goes with it."""
    return (obj["metadata"].get("annotations") or {}).get(DELETE_DATA) == "true"


def cluster_ip(service: Object | None) -> str:
    """The address of a Service: it works in pods and, in the lab, on the host."""
    address = ((service or {}).get("spec") or {}).get("clusterIP") or ""
    return "" if address == "None" else str(address)


def image(reference: str) -> Image:
    """An image reference in its parts."""
    repository, at, digest = reference.partition("@")
    if at:
        return Image(repository=repository, digest=digest)
    repository, colon, tag = reference.rpartition(":")
    if not colon or "/" in tag:
        return Image(repository=reference, tag="latest")
    return Image(repository=repository, tag=tag)


def resources(given: Resources | None, default: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the user says, else a tested size."""
    chosen: Mapping[str, Any] = default if given is None else msgspec.to_builtins(given)
    return chosen


def probes(port: str, command: Sequence[str] = ()) -> dict[str, Any]:
    """Ask the server itself, often while it starts; a port that stays closed ends the pod."""
    asks: dict[str, Any] = {"tcpSocket": {"port": port}, "timeoutSeconds": 10}
    if command:
        asks = {"exec": {"command": list(command)}, "timeoutSeconds": 10}
    return {
        "startupProbe": {**asks, "periodSeconds": 1, "failureThreshold": 300},
        "readinessProbe": {**asks, "periodSeconds": 10, "failureThreshold": 3},
        "livenessProbe": {
            "tcpSocket": {"port": port},
            "periodSeconds": 30,
            "failureThreshold": 4,
        },
    }


def _template(server: Server) -> Object:
    main = pods.Container(
        name=server.name,
        image=image(server.image),
        command=server.command,
        mounts=[
            pods.Mount("configuration", CONFIGURATION, config_map=server.configuration),
            pods.Mount("secrets", SECRETS, secret=server.secret),
        ],
        probes={**server.probes, "imagePullPolicy": "IfNotPresent"},
        resources=server.resources,
    )
    beside = replace(
        main,
        name=f"{server.name}-companion",
        command=server.companion,
        probes={"imagePullPolicy": "IfNotPresent"},
    )
    template = pods.template(
        [main, beside] if server.companion else [main],
        labels=server.labels,
        annotations={names.SECRET_DIGEST: server.digest},
        settings={
            "terminationGracePeriodSeconds": 60,
            "affinity": AWAY_FROM_SERVICES,
            **server.settings,
        },
    )
    body = template["spec"]["containers"][0]
    body["ports"] = [
        {"name": each, "containerPort": port, "protocol": "TCP"}
        for each, port in server.ports.items()
    ]
    if server.volume is not None:
        body["volumeMounts"].append({"name": server.volume.claim, "mountPath": server.volume.path})
    return template


def _as_claimed(volume: Volume, live: Object | None) -> Volume:
    templates = ((live or {}).get("spec") or {}).get("volumeClaimTemplates") or ()
    for claim in templates:
        known = claim["spec"]
        return replace(
            volume,
            size=known["resources"]["requests"]["storage"],
            storage_class=known.get("storageClassName"),
        )
    return volume


def _claim(volume: Volume, labels: Mapping[str, str]) -> Object:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": volume.size}},
    }
    if volume.storage_class:
        spec["storageClassName"] = volume.storage_class
    return {"metadata": {"name": volume.claim, "labels": dict(labels)}, "spec": spec}


def _meta(server: Server, key: Key) -> dict[str, Any]:
    return {"name": key.name, "namespace": key.namespace, "labels": dict(server.labels)}
