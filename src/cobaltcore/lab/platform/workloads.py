"""The processes of operators and providers as Deployments. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, NAMESPACE, SERVICE
from cobaltcore.engine.desired import pods
from cobaltcore.lab import manifests
from cobaltcore.lab.platform import accounts
from cobaltcore.lab.providers import serverpod
from cobaltcore.runtime.meta import Desired

WEBHOOKS = "cobalt-webhooks"
WEBHOOK_PORT = 9443
HEALTH_PORT = 8080


def namespace() -> Desired:
    """Where all of it is."""
    return Desired(NAMESPACE, {"metadata": {"name": accounts.NAMESPACE}})


def objects(image: str, servers: Mapping[str, str]) -> Iterator[Desired]:
    """Both Deployments from one image, and the Service of the webhooks."""
    given = [f"--image={name}={reference}" for name, reference in sorted(servers.items())]
    webhooks = f"--webhook-service={accounts.NAMESPACE}/{WEBHOOKS}"
    yield _service()
    yield _deployment(accounts.PROVIDERS, image, ["providers", *given])
    yield _deployment(
        accounts.OPERATORS, image, ["run", webhooks, f"--webhook-port={WEBHOOK_PORT}"]
    )


def _service() -> Desired:
    spec = {
        "selector": {accounts.LABEL: accounts.OPERATORS},
        "ports": [{"name": "webhooks", "port": 443, "targetPort": WEBHOOK_PORT}],
    }
    return Desired(SERVICE, {"metadata": _meta(WEBHOOKS, accounts.OPERATORS), "spec": spec})


def _deployment(account: str, image: str, words: Sequence[str]) -> Desired:
    labels = {accounts.LABEL: account}
    container = pods.Container(
        name="cobalt",
        image=serverpod.image(image),
        command=[
            "cobalt",
            *words,
            "--leader-elect",
            "--health-host=0.0.0.0",
            f"--health-port={HEALTH_PORT}",
            "--log-format=json",
        ],
        probes=_probes(),
        resources={"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
    )
    template = pods.template(
        [container],
        labels=labels,
        annotations={},
        settings={
            "serviceAccountName": account,
            "automountServiceAccountToken": True,
            "nodeSelector": {manifests.CONTROL_PLANE: ""},
            "tolerations": [{"operator": "Exists"}],
            "priorityClassName": "system-cluster-critical",
            # Passes may end, and the lease is given up.
            "terminationGracePeriodSeconds": 30,
        },
    )
    spec: dict[str, Any] = {
        "replicas": 1,
        "revisionHistoryLimit": 2,
        "selector": {"matchLabels": labels},
        # The next one has its caches filled before this one goes.
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
        },
        "template": template,
    }
    return Desired(DEPLOYMENT, {"metadata": _meta(account, account), "spec": spec})


def _probes() -> dict[str, Any]:
    alive = {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "timeoutSeconds": 5}
    ready = {"httpGet": {"path": "/readyz", "port": HEALTH_PORT}, "timeoutSeconds": 5}
    return {
        "imagePullPolicy": "IfNotPresent",
        "startupProbe": {**ready, "periodSeconds": 1, "failureThreshold": 180},
        "readinessProbe": {**ready, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**alive, "periodSeconds": 10, "failureThreshold": 6},
    }


def _meta(name: str, account: str) -> dict[str, Any]:
    return {"name": name, "namespace": accounts.NAMESPACE, "labels": {accounts.LABEL: account}}
