"""Objects of cert-manager as tests write them."""

from typing import Any

from cobaltcore.api.foreign.certmanager import CERTIFICATE, CLUSTER_ISSUER, ISSUER
from cobaltcore.runtime.meta import Key, Object
from tests.support.providers import an_object

ECDSA = {"algorithm": "ECDSA", "size": 256}


def a_self_signer(namespace: str, name: str = "self") -> Object:
    return an_object(ISSUER, Key(namespace, name), {"selfSigned": {}})


def an_authority(namespace: str, name: str = "root", **spec: Any) -> Object:
    """The Certificate of an authority, in the Secret `<name>-ca`."""
    fields = {
        "secretName": f"{name}-ca",
        "isCA": True,
        "commonName": f"{name} authority",
        "privateKey": ECDSA,
        "issuerRef": {"name": "self", "kind": "Issuer"},
        **spec,
    }
    return an_object(CERTIFICATE, Key(namespace, name), fields)


def an_issuer(namespace: str, name: str = "root") -> Object:
    return an_object(ISSUER, Key(namespace, name), {"ca": {"secretName": f"{name}-ca"}})


def a_cluster_issuer(name: str, secret: str) -> Object:
    return an_object(CLUSTER_ISSUER, Key("", name), {"ca": {"secretName": secret}})


def a_certificate(namespace: str, name: str = "web", **spec: Any) -> Object:
    """A server certificate in the Secret `<name>-tls`."""
    fields = {
        "secretName": f"{name}-tls",
        "dnsNames": [f"{name}.{namespace}.svc", "localhost"],
        "ipAddresses": ["127.0.0.1"],
        "usages": ["digital signature", "server auth"],
        "privateKey": ECDSA,
        "issuerRef": {"name": "root", "kind": "Issuer", "group": "cert-manager.io"},
        **spec,
    }
    return an_object(CERTIFICATE, Key(namespace, name), fields)
