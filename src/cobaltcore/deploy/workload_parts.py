"""The Deployment of a process of operators and what belongs to it, with places for values. Pure."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from cobaltcore.api.foreign.kubernetes import NETWORK_POLICY, POD_DISRUPTION_BUDGET, SERVICE
from cobaltcore.api.foreign.prometheus import SERVICE_MONITOR
from cobaltcore.deploy import rbac, workload
from cobaltcore.deploy.processes import OperatorProcess
from cobaltcore.deploy.symbols import IMAGE, NAMESPACE, WATCHED, Part, Value, When, place
from cobaltcore.engine.desired.placement import Placement
from cobaltcore.runtime.meta import Desired, Kind, Object

WEBHOOK_PORT = 9443
_WEBHOOKS = "webhook.enabled"


def of(process: OperatorProcess) -> Iterator[Part]:
    """Services come before the Deployment, so that the first call of a webhook has an address."""
    labels = {rbac.LABEL: process.name}
    if process.webhook_service:
        port = {"name": "webhooks", "port": 443, "targetPort": Value("webhook.port")}
        spec = {"selector": labels, "ports": [port]}
        yield Part(_object(SERVICE, process, process.webhook_service, spec), (_WEBHOOKS,))
    metrics = f"{process.name}-metrics"
    port = {"name": "metrics", "port": workload.HEALTH_PORT, "targetPort": workload.HEALTH_PORT}
    service = _object(SERVICE, process, metrics, {"selector": labels, "ports": [port]})
    service.body["metadata"]["labels"][METRICS] = process.name
    yield Part(service, ("metrics.enabled",))
    yield Part(_monitor(process, metrics), ("metrics.enabled", "metrics.serviceMonitor.enabled"))
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    yield Part(
        _object(POD_DISRUPTION_BUDGET, process, process.name, budget),
        ("podDisruptionBudget.enabled",),
    )
    yield Part(
        _object(NETWORK_POLICY, process, process.name, _allowed(process)),
        ("networkPolicy.enabled",),
    )
    yield Part(_deployment(process))


METRICS = "c5c3.io/metrics-of"
"""Label of the Service in front of a process's metrics."""


def _object(kind: Kind, process: OperatorProcess, name: str, spec: Object) -> Desired:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {rbac.LABEL: process.name}}
    return Desired(kind, {"metadata": metadata, "spec": spec})


def _monitor(process: OperatorProcess, name: str) -> Desired:
    endpoint = {
        "port": "metrics",
        "path": "/metrics",
        "interval": place("value", "metrics.serviceMonitor.interval"),
    }
    spec = {"selector": {"matchLabels": {METRICS: process.name}}, "endpoints": [endpoint]}
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": Value("metrics.serviceMonitor.labels"),
    }
    return Desired(SERVICE_MONITOR, {"metadata": metadata, "spec": spec})


def _allowed(process: OperatorProcess) -> Object:
    """Probes and metrics from anywhere, webhooks from the API server, which has no label."""
    ports: list[Object] = [{"protocol": "TCP", "port": workload.HEALTH_PORT}]
    if process.webhook_service:
        ports.append({"protocol": "TCP", "port": Value("webhook.port")})
    return {
        "podSelector": {"matchLabels": {rbac.LABEL: process.name}},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": ports}],
    }


def _deployment(process: OperatorProcess) -> Desired:
    labels = {rbac.LABEL: process.name}
    base = workload.deployment(
        workload.Process(
            name=process.name,
            namespace=NAMESPACE,
            image=IMAGE,
            arguments=["run", *process.arguments],
            placement=Placement(spread_selector=labels),
        )
    )
    body: dict[str, Any] = deepcopy(dict(base.body))
    body["spec"]["replicas"] = Value("replicaCount")
    template = body["spec"]["template"]
    template["metadata"]["annotations"] = Value("podAnnotations")
    template["spec"] |= {
        "serviceAccountName": place("account", process.name),
        "priorityClassName": Value("priorityClassName", optional=True),
        "nodeSelector": Value("nodeSelector", optional=True),
        "tolerations": Value("tolerations", optional=True),
        "affinity": Value("affinity", optional=True),
        "imagePullSecrets": Value("imagePullSecrets", optional=True),
    }
    (container,) = template["spec"]["containers"]
    container |= {
        "image": IMAGE,
        "command": _command(process, container["command"]),
        "env": Value("extraEnv"),
        "resources": Value("resources"),
        "imagePullPolicy": place("value", "image.pullPolicy"),
    }
    return Desired(base.kind, body)


def _command(process: OperatorProcess, base: list[str]) -> list[str | When]:
    found: list[str | When] = [each for each in base if each != workload.LEADER_ELECT]
    found.append(When("leaderElection.enabled", workload.LEADER_ELECT))
    found.append(f"--log-level={place('value', 'logLevel')}")
    found.append(When("watchNamespace", f"--watch-namespace={WATCHED}"))
    if process.webhook_service:
        service = f"{NAMESPACE}/{process.webhook_service}"
        found.append(When(_WEBHOOKS, f"--webhook-service={service}"))
        found.append(When(_WEBHOOKS, f"--webhook-port={place('value', 'webhook.port')}"))
    found.append(f"--allowed-registries={place('list', 'allowedRegistries')}")
    found.append(f"--allowed-node-labels={place('list', 'allowedNodeLabels')}")
    return found
