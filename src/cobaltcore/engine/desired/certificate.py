"""The certificate of an endpoint, made by cert-manager. Pure."""

from collections.abc import Mapping
from typing import Any

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.runtime.meta import Desired, Key


def certificate(
    key: Key, *, service: Key, secret: str, issuer: IssuerRef, labels: Mapping[str, str]
) -> Desired:
    """A certificate for every name under which a Service can be addressed."""
    name, namespace = service
    hosts = [name, f"{name}.{namespace}", f"{name}.{namespace}.svc"]
    spec: dict[str, Any] = {
        "secretName": secret,
        "dnsNames": [*hosts, f"{name}.{namespace}.svc.cluster.local"],
        "issuerRef": {"name": issuer.name, "kind": issuer.kind},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "key encipherment", "server auth"],
    }
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(CERTIFICATE, {"metadata": meta, "spec": spec})
