"""NetworkPolicies: who may connect to which ports of which pods. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from cobaltcore.api.foreign.kubernetes import NETWORK_POLICY
from cobaltcore.runtime.meta import Desired, Key, Object

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label of a namespace with its name: the API server sets it, and it cannot be changed."""

Network = IPv4Network | IPv6Network
ANYWHERE = ("0.0.0.0/0", "::/0")


@dataclass(frozen=True, slots=True)
class Ingress:
    """Peers that may connect to some TCP ports; without ports to all."""

    peers: Sequence[Object]
    ports: Sequence[int] = ()


def network_policy(
    key: Key, *, selector: Mapping[str, str], ingress: Iterable[Ingress], labels: Mapping[str, str]
) -> Desired:
    """Nothing but the listed connections reaches the selected pods."""
    spec = {
        "podSelector": {"matchLabels": dict(selector)},
        "policyTypes": ["Ingress"],
        # A rule without peers would admit everybody.
        "ingress": [_rule(each) for each in ingress if each.peers],
    }
    meta = {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}
    return Desired(NETWORK_POLICY, {"metadata": meta, "spec": spec})


def pods(selector: Mapping[str, str]) -> Object:
    """Pods of the policy's own namespace."""
    return {"podSelector": {"matchLabels": dict(selector)}}


def namespaces(names: Iterable[str]) -> list[Object]:
    """All pods of some namespaces."""
    values = sorted(set(names))
    expression = {"key": NAMESPACE_NAME, "operator": "In", "values": values}
    return [{"namespaceSelector": {"matchExpressions": [expression]}}] if values else []


def blocks(networks: Iterable[Network]) -> list[Object]:
    """Addresses, as few networks as hold exactly these."""
    return [{"ipBlock": {"cidr": str(each)}} for each in _collapsed(networks)]


def outside(pod_networks: Iterable[Network]) -> list[Object]:
    """Everything but pods."""
    known = _collapsed(pod_networks)
    return [{"ipBlock": _without(ip_network(each), known)} for each in ANYWHERE]


def _without(whole: Network, known: Iterable[Network]) -> Object:
    parts = [str(each) for each in known if each.version == whole.version]
    return {"cidr": str(whole), **({"except": parts} if parts else {})}


def _collapsed(networks: Iterable[Network]) -> list[Network]:
    known = list(networks)
    return [
        *collapse_addresses(each for each in known if isinstance(each, IPv4Network)),
        *collapse_addresses(each for each in known if isinstance(each, IPv6Network)),
    ]


def _rule(ingress: Ingress) -> Object:
    ports = [{"port": port, "protocol": "TCP"} for port in ingress.ports]
    return {"from": list(ingress.peers), **({"ports": ports} if ports else {})}


def node_addresses(nodes: Iterable[Object]) -> Iterator[Network]:
    """Where the connections of a node, and of pods in its network, come from."""
    for node in nodes:
        for each in (node.get("status") or {}).get("addresses") or ():
            if each["type"] in ("InternalIP", "ExternalIP"):
                yield ip_network(each["address"])


def pod_networks(nodes: Iterable[Object]) -> Iterator[Network]:
    """Where pods have their addresses, as far as nodes say so."""
    for node in nodes:
        for each in (node.get("spec") or {}).get("podCIDRs") or ():
            yield ip_network(each)
