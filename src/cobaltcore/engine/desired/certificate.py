"""The certificate of an endpoint, issued by cert-manager. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.runtime.meta import Desired, Key


def certificate(
    key: Key,
    *,
    service: Key,
    secret: str,
    issuer: IssuerRef,
    labels: Mapping[str, str],
    others: Iterable[Key] = (),
) -> Desired:
    """A certificate for every name under which a Service, and others, can be addressed."""
    spec: dict[str, Any] = {
        "secretName": secret,
        "dnsNames": [name for each in (service, *others) for name in _host_names(each)],
        "issuerRef": {"name": issuer.name, "kind": issuer.kind},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "key encipherment", "server auth"],
    }
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(CERTIFICATE, {"metadata": meta, "spec": spec})


def _host_names(service: Key) -> list[str]:
    namespace, name = service
    qualified = f"{name}.{namespace}.svc"
    return [name, f"{name}.{namespace}", qualified, f"{qualified}.cluster.local"]
