"""The Service in front of pods. Pure."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.api.foreign.kubernetes import SERVICE
from cobaltcore.runtime.meta import Desired, Key


def service(
    key: Key, *, port: int, selector: Mapping[str, str], labels: Mapping[str, str]
) -> Desired:
    """A cluster-internal address for the pods that `selector` finds."""
    spec: dict[str, Any] = {
        "selector": dict(selector),
        "ports": [{"name": "api", "port": port, "targetPort": port, "protocol": "TCP"}],
    }
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(SERVICE, {"metadata": meta, "spec": spec})


def host(key: Key) -> str:
    """The name under which a Service answers inside the cluster."""
    return f"{key.name}.{key.namespace}.svc.cluster.local"
