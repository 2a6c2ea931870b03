"""The certificate of an endpoint, issued by cert-manager. Pure."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.runtime.meta import Desired, Key


def certificate(
    key: Key,
    *,
    services: Iterable[Key],
    secret: str,
    issuer: IssuerRef,
    labels: Mapping[str, str],
    hosts: Iterable[str] = (),
) -> Desired:
    """A certificate for every name under which Services can be addressed.

    `hosts` are names and addresses outside of the cluster.
    """
    inside = [name for each in services for name in _host_names(each)]
    outside = list(hosts)
    addresses = [each for each in outside if _is_address(each)]
    spec: dict[str, Any] = {
        "secretName": secret,
        "dnsNames": [*inside, *(each for each in outside if each not in addresses)],
        **({"ipAddresses": addresses} if addresses else {}),
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


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
