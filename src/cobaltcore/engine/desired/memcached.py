"""Memcached servers with names of their own, so that clients can hash keys over them. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.kubernetes import POD_DISRUPTION_BUDGET, SERVICE, STATEFUL_SET
from cobaltcore.engine.desired import pods
from cobaltcore.runtime.meta import Desired, Key

PORT = 11211
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
OVERHEAD_MEBIBYTES = 32


def memcached(
    key: Key, *, image: Image, replicas: int, memory: str, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """A StatefulSet, the Service that names its pods, and a budget that keeps most of them."""
    selector = {k: v for k, v in labels.items() if k != "app.kubernetes.io/managed-by"}
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    ports = [{"name": "memcached", "port": PORT, "targetPort": PORT, "protocol": "TCP"}]
    yield Desired(
        SERVICE,
        {
            "metadata": meta,
            "spec": {"clusterIP": "None", "selector": selector, "ports": ports},
        },
    )
    size = mebibytes(memory)
    container = pods.Container(
        "memcached",
        image,
        ("memcached", "-m", str(size), "-c", "4096", "-l", "0.0.0.0", "-p", str(PORT)),  # noqa: S104
        port=PORT,
        probes={
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 2},
            "livenessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 10},
        },
        resources={
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"memory": f"{size + OVERHEAD_MEBIBYTES}Mi"},
        },
    )
    spec: dict[str, Any] = {
        "serviceName": key.name,
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": selector},
        "template": pods.template([container], labels=labels, annotations={}, settings={}),
    }
    yield Desired(STATEFUL_SET, {"metadata": meta, "spec": spec})
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": selector}}
    yield Desired(POD_DISRUPTION_BUDGET, {"metadata": meta, "spec": budget})


def mebibytes(quantity: str) -> int:
    """A memory quantity in whole mebibytes, as Memcached wants it."""
    unit = quantity[-2:]
    size = int(quantity[:-2]) * _UNITS[unit] if unit in _UNITS else int(quantity)
    return max(1, size // 2**20)
