"""Deployments of `cobalt` commands that run controllers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cobaltcore.api.blocks import Image
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.api.pods import Resources
from cobaltcore.deploy import rbac
from cobaltcore.engine.desired.containers import Container
from cobaltcore.engine.desired.placement import CLUSTER_CRITICAL, Placement
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import HttpGet, Probe, Probes
from cobaltcore.runtime.meta import Desired

HEALTH_PORT = 8080
LEADER_ELECT = "--leader-elect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A `cobalt` command; its name is also that of its ServiceAccount."""

    name: str
    namespace: str
    image: str
    arguments: Sequence[str]
    placement: Placement = field(default_factory=Placement)


def deployment(process: Process) -> Desired:
    """One replica, replaced only after the next one is ready."""
    labels = {rbac.LABEL: process.name}
    metadata = {"name": process.name, "namespace": process.namespace, "labels": labels}
    spec: dict[str, Any] = {
        "replicas": 1,
        "revisionHistoryLimit": 2,
        "selector": {"matchLabels": labels},
        # The new pod fills its caches before the old one releases the Lease.
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "template": Pod(
            containers=[_container(process)],
            labels=labels,
            placement=replace(process.placement, priority_class_name=CLUSTER_CRITICAL),
            service_account=process.name,
            # Running reconciles end, and the Lease is released.
            grace_period_seconds=30,
        ).template(),
    }
    return Desired(DEPLOYMENT, {"metadata": metadata, "spec": spec})


def parse_image(reference: str) -> Image:
    """Repository and digest or tag of an image reference; the tag is `latest` by default."""
    repository, at, digest = reference.partition("@")
    if at:
        return Image(repository=repository, digest=digest)
    repository, colon, tag = reference.rpartition(":")
    if not colon or "/" in tag:
        return Image(repository=reference, tag="latest")
    return Image(repository=repository, tag=tag)


def _container(process: Process) -> Container:
    return Container(
        name="cobalt",
        image=parse_image(process.image),
        command=[
            "cobalt",
            *process.arguments,
            LEADER_ELECT,
            "--health-host=0.0.0.0",
            f"--health-port={HEALTH_PORT}",
            "--log-format=json",
        ],
        probes=_probes(),
        resources=Resources(requests={"cpu": "50m", "memory": "96Mi"}, limits={"memory": "512Mi"}),
        pull_policy="IfNotPresent",
    )


def _probes() -> Probes:
    alive = Probe(HttpGet("/healthz", HEALTH_PORT), timeout_seconds=5)
    ready = Probe(HttpGet("/readyz", HEALTH_PORT), timeout_seconds=5)
    return Probes(
        startup=replace(ready, period_seconds=1, failure_threshold=180),
        readiness=replace(ready, period_seconds=5, failure_threshold=3),
        liveness=replace(alive, period_seconds=10, failure_threshold=6),
    )
