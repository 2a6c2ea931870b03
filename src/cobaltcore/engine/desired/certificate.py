"""Certificates that cert-manager issues, and authorities that sign nothing but ours. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.foreign.certmanager import CERTIFICATE, ISSUER
from cobaltcore.runtime.meta import Desired, Key, Kind

AUTHORITY_LIFETIME = "87600h"


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
    return _object(CERTIFICATE, key, spec, labels)


def authority(
    signer: Key, key: Key, *, common_name: str, labels: Mapping[str, str]
) -> Iterator[Desired]:
    """A CA that signs itself with the issuer `signer`; `key` names it and the issuer that uses it."""
    spec = {
        "isCA": True,
        "commonName": common_name[:64],
        "secretName": key.name,
        "duration": AUTHORITY_LIFETIME,
        "issuerRef": {"name": signer.name, "kind": "Issuer"},
        # With the same key, certificates that it signed before stay valid when it is renewed.
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Never"},
    }
    yield _object(ISSUER, signer, {"selfSigned": {}}, labels)
    yield _object(CERTIFICATE, key, spec, labels)
    yield _object(ISSUER, key, {"ca": {"secretName": key.name}}, labels)


def _object(kind: Kind, key: Key, spec: dict[str, Any], labels: Mapping[str, str]) -> Desired:
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(kind, {"metadata": meta, "spec": spec})


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
