"""The northbound and southbound databases: servers that replicate with Raft. Pure.

A database of one server is a cluster of one, so servers can be added later. A server is known to the
others by the name of its pod, and keeps its part of the data on its own volume.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cobaltcore.api.foreign.kubernetes import SERVICE, STATEFUL_SET
from cobaltcore.api.ovn import NB_PORT, SB_PORT, OvnDatabase, ServicePort
from cobaltcore.api.pods import Resources
from cobaltcore.engine.desired import containers, placement, workload
from cobaltcore.engine.desired.containers import Container, Port
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Exec, Probe, Probes
from cobaltcore.engine.desired.statefulset import Storage, stateful_set
from cobaltcore.engine.desired.volumes import ClaimTemplate, Secret, Volume
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn import southbound
from cobaltcore.operators.ovn.view import View
from cobaltcore.runtime.meta import Desired, Key, Object

DATA, TLS = "/var/lib/ovn", "/etc/ovn-tls"
CLAIM = "data"
CONTROL = "/tmp/ovsdb.ctl"  # noqa: S108 an empty volume of the pod
TESTED_SIZE = Resources(requests={"cpu": "20m", "memory": "32Mi"}, limits={"memory": "1Gi"})


@dataclass(frozen=True, slots=True)
class Database:
    """One of the two databases."""

    component: str
    schema: str
    file: str
    port: int
    raft_port: int

    def settings(self, view: View) -> OvnDatabase:
        """Its settings in the spec."""
        spec = view.spec
        return spec.northbound if self is NORTHBOUND else spec.southbound

    def service(self, view: View) -> ServicePort:
        """The Service that others reach it by."""
        neutron = view.spec.neutron_integration
        return (neutron.nb_connection if self is NORTHBOUND else neutron.sb_connection).service

    def endpoint(self, view: View) -> str:
        """The connection string for clients."""
        service = self.service(view)
        host = f"{service.name}.{view.namespace}.svc.cluster.local"
        return f"{view.protocol}:{host}:{service.port}"

    def hosts(self, view: View) -> list[str]:
        """The names of its servers' pods."""
        name = view.named(self.component)
        return [
            f"{name.name}-{number}.{name.name}.{name.namespace}.svc.cluster.local"
            for number in range(self.settings(view).replicas)
        ]

    def servers(self, view: View) -> str:
        """The connection string of all servers, for a client that looks for the leader."""
        return ",".join(f"{view.protocol}:{host}:{self.port}" for host in self.hosts(view))


NORTHBOUND = Database("northbound", southbound.NORTHBOUND, "ovn-nb.ovsschema", NB_PORT, 6643)
SOUTHBOUND = Database("southbound", southbound.SOUTHBOUND, "ovn-sb.ovsschema", SB_PORT, 6644)
BOTH = (NORTHBOUND, SOUTHBOUND)


def objects(view: View, database: Database) -> Iterator[Desired]:
    """Servers with volumes, their names, the address for clients, a budget that keeps a majority."""
    key = view.named(database.component)
    labels, selector = view.labels(database.component), view.selector(database.component)
    meta = {"name": key.name, "namespace": key.namespace, "labels": labels}
    ports = {"client": database.port, "raft": database.raft_port}
    names = {
        "clusterIP": "None",
        # Servers have to find each other before they can serve.
        "publishNotReadyAddresses": True,
        "selector": selector,
        "ports": [_port(name, port, port) for name, port in ports.items()],
    }
    yield Desired(SERVICE, {"metadata": meta, "spec": names})
    service = database.service(view)
    front = {"selector": selector, "ports": [_port("ovsdb", service.port, database.port)]}
    yield Desired(SERVICE, {"metadata": {**meta, "name": service.name}, "spec": front})
    yield _stateful_set(view, database)
    yield workload.disruption_budget(key, selector=selector, labels=labels)


def ready(view: View, database: Database) -> Verdict:
    """Whether all servers are members of the cluster and know its leader."""
    key = view.named(database.component)
    found = workload.progress(view.get(STATEFUL_SET, key))
    if found.settled:
        return Ready("Serving", f"{found.ready}/{found.wanted} servers")
    text = found.describe(key.name, wanted=database.settings(view).replicas)
    return Waiting("ServersStarting", f"{text}{view.pod_failure(database.component)}")


def is_served(view: View, database: Database) -> bool:
    """Whether any server answers."""
    found = view.get(STATEFUL_SET, view.named(database.component)) or {}
    return bool((found.get("status") or {}).get("readyReplicas"))


def tls_volumes(view: View) -> list[Volume]:
    """The certificate, if connections are encrypted."""
    return [Volume("tls", TLS, Secret(view.tls_secret))] if view.is_encrypted else []


def tls_options(view: View) -> list[str]:
    """Options of OVN's programs for the certificate."""
    if not view.is_encrypted:
        return []
    files = {"private-key": "tls.key", "certificate": "tls.crt", "ca-cert": "ca.crt"}
    return [f"--{option}={TLS}/{name}" for option, name in files.items()]


def _stateful_set(view: View, database: Database) -> Desired:
    key, settings = view.named(database.component), database.settings(view)
    storage = Storage(
        CLAIM,
        settings.storage.size,
        settings.storage.storage_class,
        retain=view.spec.deletion_policy == "Retain",
    )
    return stateful_set(
        key,
        replicas=settings.replicas,
        selector=view.selector(database.component),
        pod=_pod(view, database),
        storage=storage.kept_from(view.get(STATEFUL_SET, key)),
    )


def _pod(view: View, database: Database) -> Pod:
    settings = database.settings(view)
    container = Container(
        database.component,
        view.spec.ovn_image,
        ("cobalt-agent", "ovn", "database"),
        volumes=[*tls_volumes(view), Volume(CLAIM, DATA, ClaimTemplate())],
        environment={
            "OVN_DATABASE": database.schema,
            "OVN_SCHEMA": f"/usr/share/ovn/{database.file}",
            "OVN_SERVERS": ",".join(database.hosts(view)),
            "OVN_PORT": str(database.port),
            "OVN_RAFT_PORT": str(database.raft_port),
            "OVN_PROTOCOL": view.protocol,
            **({"OVN_OPTIONS": " ".join(tls_options(view))} if view.is_encrypted else {}),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        ports=[Port("ovsdb", database.port), Port("raft", database.raft_port)],
        probes=_probes(database),
        resources=containers.resources(TESTED_SIZE, settings),
    )
    selector = view.selector(database.component)
    return Pod(
        containers=[container],
        labels=view.labels(database.component),
        placement=replace(placement.of(settings), spread_selector=selector),
        pull_secrets=view.spec.image_pull_secrets,
        # OVN terminates itself by a signal that PID 1 of a namespace ignores.
        share_process_namespace=True,
        grace_period_seconds=30,
    )


def _probes(database: Database) -> Probes:
    """A server is ready when it is a member of the cluster and knows the leader."""
    cluster_status = f"ovs-appctl --timeout=5 -t {CONTROL} cluster/status {database.schema}"
    has_leader = f"{cluster_status} | grep -q '^Leader: [^u]'"
    member = Probe(Exec(["sh", "-c", has_leader]), timeout_seconds=10)
    return Probes(
        startup=replace(member, period_seconds=1, failure_threshold=600),
        readiness=replace(member, period_seconds=10, failure_threshold=2),
        liveness=responds(CONTROL),
    )


def responds(control: str, *, program: str = "ovs-appctl") -> Probe:
    """A program of OVN answers at its control socket."""
    version = Exec([program, "--timeout=5", "-t", control, "version"])
    return Probe(version, period_seconds=30, timeout_seconds=10, failure_threshold=4)


def claims(view: View) -> Iterable[Key]:
    """The volumes' claims of both databases."""
    for database in BOTH:
        name = view.named(database.component).name
        for number in range(database.settings(view).replicas):
            yield view.sibling(f"{CLAIM}-{name}-{number}")


def _port(name: str, port: int, target: int) -> Object:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}
