"""Memcached servers with names of their own, so that clients can hash keys over them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.api.pods import PullSecret, Resources
from cobaltcore.engine.desired import workload
from cobaltcore.engine.desired.containers import Container, Port
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Probe, Probes, TcpSocket
from cobaltcore.engine.desired.statefulset import stateful_set
from cobaltcore.runtime.meta import Desired, Key

PORT = 11211
_UNITS = {
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: 1000**power for power, letter in enumerate("kMGTPE", start=1)},
    "m": Decimal("0.001"),
    "": 1,
}
OVERHEAD_MEBIBYTES = 32


@dataclass(frozen=True, slots=True)
class Memcached:
    """The configuration of the servers."""

    image: Image
    replicas: int
    memory: str
    """What each may store, as a quantity."""
    resources: Resources | None = None
    pull_secrets: Sequence[PullSecret] | None = None


def objects(key: Key, settings: Memcached, labels: Mapping[str, str]) -> Iterator[Desired]:
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
    size = mebibytes(settings.memory)
    container = Container(
        "memcached",
        settings.image,
        ("memcached", "-m", str(size), "-c", "4096", "-l", "0.0.0.0", "-p", str(PORT)),  # noqa: S104
        ports=[Port("api", PORT)],
        probes=Probes(
            readiness=Probe(TcpSocket(PORT), period_seconds=2),
            liveness=Probe(TcpSocket(PORT), period_seconds=10),
        ),
        resources=settings.resources
        or Resources(
            requests={"cpu": "10m", "memory": "16Mi"},
            limits={"memory": f"{size + OVERHEAD_MEBIBYTES}Mi"},
        ),
    )
    pod = Pod(containers=[container], labels=labels, pull_secrets=settings.pull_secrets)
    yield stateful_set(key, replicas=settings.replicas, selector=selector, pod=pod)
    yield workload.disruption_budget(key, selector=selector, labels=labels)


def mebibytes(quantity: str) -> int:
    """A memory quantity in whole mebibytes, as Memcached wants it."""
    number = quantity.rstrip("ikmKMGTPE")
    size = Decimal(number) * _UNITS[quantity.removeprefix(number)]
    return max(1, int(size) // 2**20)
