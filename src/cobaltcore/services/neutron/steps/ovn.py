"""The OVN that realises networks: where it is, how it is trusted, whether it answers. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from cobaltcore.api import ovn
from cobaltcore.api.foreign.kubernetes import SECRET, SERVICE
from cobaltcore.api.neutron import NeutronSpec
from cobaltcore.engine import jobs
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import names, secret, service
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.verdict import DependencyPending, Ready, Waiting
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Key, Kind

TLS_DIR = "/etc/ovn-tls"
TLS_KEYS = ("tls.crt", "tls.key", "ca.crt")
DEFAULT_CLUSTER = Key("ovn-system", "ovn")
_INSIDE = ".svc"


class Connections(NamedTuple):
    """Connection strings of the two databases."""

    northbound: str
    southbound: str

    @property
    def are_encrypted(self) -> bool:
        """Whether any of them needs certificates."""
        return "ssl:" in self.northbound + self.southbound


def is_used(scope: ServiceScope[NeutronSpec]) -> bool:
    """Whether OVN realises the networks."""
    return bool(scope.spec.ovn.enabled)


def references(key: Key, spec: NeutronSpec) -> Iterator[tuple[Kind, Key]]:
    """Services that the spec names; the OVNCluster and its certificate, if it leaves them to it."""
    for connection in (spec.ovn.nb_connection, spec.ovn.sb_connection):
        for each in connection.split(",") if connection is not None else ():
            meant = _service(_parts(each)[1], key.namespace)
            if meant is not None:
                yield SERVICE, meant
    if spec.ovn.nb_connection is None or spec.ovn.tls_secret_ref is None:
        cluster = cluster_key(key, spec)
        yield ovn.CLUSTER, cluster
        # Without a look at the cluster this is the Secret that it creates by itself.
        yield SECRET, Key(cluster.namespace, names.certificate_secret(cluster.name))


def cluster_key(key: Key, spec: NeutronSpec) -> Key:
    """The OVNCluster whose endpoints are used."""
    ref = spec.ovn.cluster_ref
    if ref is None:
        return DEFAULT_CLUSTER
    return Key(ref.namespace or key.namespace, ref.name)


def connections(scope: ServiceScope[NeutronSpec]) -> Connections:
    """Those of the spec, or the endpoints that the OVNCluster reports."""
    block = scope.spec.ovn
    if block.nb_connection is not None and block.sb_connection is not None:
        return Connections(
            _qualified(scope, block.nb_connection), _qualified(scope, block.sb_connection)
        )
    key = cluster_key(scope.key, scope.spec)
    found = scope.observed.get(ovn.CLUSTER, key)
    if found is None:
        raise DependencyPending("WaitingForOVN", f"OVNCluster {key} does not exist")
    endpoints = (found.get("status") or {}).get("endpoints") or {}
    if not endpoints.get("northbound") or not endpoints.get("southbound"):
        raise DependencyPending("WaitingForOVN", f"OVNCluster {key} reports no endpoints yet")
    return Connections(endpoints["northbound"], endpoints["southbound"])


def secret_files(scope: ServiceScope[NeutronSpec]) -> dict[str, dict[str, str]]:
    """Certificate, key and authority, copied to where Neutron's pods can mount them."""
    if not is_used(scope) or not connections(scope).are_encrypted:
        return {}
    key = _tls_secret(scope)
    content = secret.texts(scope.observed.content(SECRET, key))
    missing = [name for name in TLS_KEYS if name not in content]
    if missing:
        raise DependencyPending(
            "WaitingForOVN", f"Secret {key} (OVN's certificate) has no {missing[0]!r}"
        )
    return {TLS_DIR: {name: content[name] for name in TLS_KEYS}}


def options(scope: ServiceScope[NeutronSpec]) -> Sections:
    """The section that the ML2 driver and the agents read."""
    found = connections(scope)
    section = {
        "ovn_nb_connection": found.northbound,
        "ovn_sb_connection": found.southbound,
        "ovn_metadata_enabled": "true",
        "ovn_l3_scheduler": "leastloaded",
        # Otherwise DHCP hands the resolver of Neutron's own pod to servers.
        "dns_servers": "0.0.0.0,::",
    }
    if found.are_encrypted:
        for side in ("nb", "sb"):
            section[f"ovn_{side}_private_key"] = f"{TLS_DIR}/tls.key"
            section[f"ovn_{side}_certificate"] = f"{TLS_DIR}/tls.crt"
            section[f"ovn_{side}_ca_cert"] = f"{TLS_DIR}/ca.crt"
    return {"ovn": section}


def connected(scope: ServiceScope[NeutronSpec]) -> Result:
    """Ask both databases from where Neutron asks them."""
    found = connections(scope)
    command = (
        "env",
        f"OVN_TLS={TLS_DIR}",
        "cobalt-agent",
        "neutron",
        "ovn-check",
        f"OVN_Northbound={found.northbound}",
        f"OVN_Southbound={found.southbound}",
    )
    task = Task("ovn-check", command, inputs=digest(secret_files(scope)))
    ran = jobs.run_once(scope, task, running="Connecting")
    if isinstance(ran.verdict, Ready):
        return Result(Ready("Connected"), ran.objects)
    if isinstance(ran.verdict, Waiting) and "Unreachable: " in ran.verdict.message:
        verdict = Waiting("Unreachable", ran.verdict.message, after=ran.verdict.after)
        return Result(verdict, ran.objects, ran.removals)
    return ran


def _tls_secret(scope: ServiceScope[NeutronSpec]) -> Key:
    ref = scope.spec.ovn.tls_secret_ref
    if ref is not None:
        return scope.sibling(ref.name)
    cluster = cluster_key(scope.key, scope.spec)
    return Key(cluster.namespace, names.certificate_secret(cluster.name))


def _qualified(scope: ServiceScope[NeutronSpec], configured: str) -> str:
    """Connections with the whole names of Services: Open vSwitch knows no search list."""
    found = []
    for each in configured.split(","):
        protocol, host, port = _parts(each)
        meant = _service(host, scope.namespace)
        # Two words may be a name of the outside world as well.
        if meant and (host.endswith(_INSIDE) or scope.observed.get(SERVICE, meant)):
            host = service.host(meant)
        found.append(f"{protocol}:{host}:{port}")
    return ",".join(found)


def _parts(connection: str) -> tuple[str, str, str]:
    protocol, _, rest = connection.partition(":")
    host, _, port = rest.rpartition(":")
    return protocol, host, port


def _service(host: str, namespace: str) -> Key | None:
    """The Service that a name means to pods of a namespace, if it is short enough for one."""
    name, *rest = host.removesuffix(_INSIDE).split(".")
    if host.startswith("[") or len(rest) > 1:
        return None
    return Key(rest[0] if rest else namespace, name)
