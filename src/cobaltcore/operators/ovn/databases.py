"""The northbound and southbound databases: servers that replicate with Raft. Pure.

A database of one server is a cluster of one, so servers can be added later. A server is known to the
others by the name of its pod, and keeps its part of the data on its own volume.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec

from cobaltcore.api.foreign.kubernetes import POD_DISRUPTION_BUDGET, SERVICE, STATEFUL_SET
from cobaltcore.api.ovn import OvnDatabase, ServicePort
from cobaltcore.engine.desired import configmap, pods, workload
from cobaltcore.engine.desired.pods import Container, Mount
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.ovn import southbound
from cobaltcore.operators.ovn.view import NB_PORT, SB_PORT, View
from cobaltcore.runtime.meta import Desired, Key, Object

PROGRAMS, DATA, TLS = "/etc/ovn-programs", "/var/lib/ovn", "/etc/ovn-tls"
CLAIM = "data"
CONTROL = "/tmp/ovsdb.ctl"  # noqa: S108 an empty volume of the pod
TESTED_SIZE: Mapping[str, Any] = {
    "requests": {"cpu": "20m", "memory": "32Mi"},
    "limits": {"memory": "1Gi"},
}


@dataclass(frozen=True, slots=True)
class Database:
    """One of the two databases."""

    component: str
    schema: str
    file: str
    port: int
    raft_port: int

    def settings(self, view: View) -> OvnDatabase:
        """What the user says about it."""
        spec = view.spec
        return spec.northbound if self is NORTHBOUND else spec.southbound

    def service(self, view: View) -> ServicePort:
        """The Service that others reach it by."""
        given = view.spec.neutron_integration
        return (given.nb_connection if self is NORTHBOUND else given.sb_connection).service

    def endpoint(self, view: View) -> str:
        """The connection string for clients."""
        service = self.service(view)
        host = f"{service.name}.{view.cluster.metadata.namespace}.svc.cluster.local"
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
    programs = configmap.config_map(
        view.named(f"{database.component}-programs"), _programs(), labels
    )
    yield programs
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
    yield _stateful_set(view, database, programs.key.name)
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": selector}}
    yield Desired(POD_DISRUPTION_BUDGET, {"metadata": meta, "spec": budget})


def ready(view: View, database: Database) -> Verdict:
    """Whether all servers are members of the cluster and know its leader."""
    key = view.named(database.component)
    number, wanted, settled = workload.progress(view.get(STATEFUL_SET, key))
    if settled:
        return Ready("Serving", f"{number}/{wanted} servers")
    wanted = wanted or database.settings(view).replicas
    return Waiting(
        "ServersStarting",
        f"{number}/{wanted} pods of {key.name!r} ready{view.trouble(database.component)}",
    )


def is_served(view: View, database: Database) -> bool:
    """Whether any server answers."""
    found = view.get(STATEFUL_SET, view.named(database.component)) or {}
    return bool((found.get("status") or {}).get("readyReplicas"))


def tls_mounts(view: View) -> list[Mount]:
    """The certificate as files, if there is one."""
    return [Mount("tls", TLS, secret=view.tls_secret)] if view.is_encrypted else []


def tls_options(view: View) -> list[str]:
    """How OVN's programs are told about it."""
    if not view.is_encrypted:
        return []
    files = {"private-key": "tls.key", "certificate": "tls.crt", "ca-cert": "ca.crt"}
    return [f"--{option}={TLS}/{name}" for option, name in files.items()]


def placement(view: View, settings: Any) -> dict[str, Any]:
    """Where pods of a workload run."""
    found: dict[str, Any] = {}
    if view.spec.image_pull_secrets:
        found["imagePullSecrets"] = msgspec.to_builtins(view.spec.image_pull_secrets)
    for wire, field in (
        ("nodeSelector", "node_selector"),
        ("tolerations", "tolerations"),
        ("priorityClassName", "priority_class_name"),
    ):
        value = getattr(settings, field)
        if value is not None:
            found[wire] = msgspec.to_builtins(value)
    return found


def _stateful_set(view: View, database: Database, programs: str) -> Desired:
    key, settings = view.named(database.component), database.settings(view)
    keep = "Retain" if view.spec.deletion_policy == "Retain" else "Delete"
    selector = view.selector(database.component)
    spec: dict[str, Any] = {
        "serviceName": key.name,
        "replicas": settings.replicas,
        # In order, a second server would wait for a first that waits for a majority.
        "podManagementPolicy": "Parallel",
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": selector},
        "template": _template(view, database, programs),
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": keep, "whenScaled": "Retain"},
        "volumeClaimTemplates": [_claim(view, database)],
    }
    meta = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": view.labels(database.component),
    }
    return Desired(STATEFUL_SET, {"metadata": meta, "spec": spec})


def _template(view: View, database: Database, programs: str) -> Object:
    settings = database.settings(view)
    container = Container(
        database.component,
        view.spec.ovn_image,
        ("python3", f"{PROGRAMS}/start_database.py"),
        mounts=[Mount("programs", PROGRAMS, config_map=programs), *tls_mounts(view)],
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
        probes=_probes(database),
        resources=pods.resources(TESTED_SIZE, settings),
    )
    selector = view.selector(database.component)
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector},
    }
    template = pods.template(
        [container],
        labels=view.labels(database.component),
        annotations={},
        settings={
            **placement(view, settings),
            # The first process of a namespace cannot be ended by the signal that OVN ends itself by.
            "shareProcessNamespace": True,
            "terminationGracePeriodSeconds": 30,
            "topologySpreadConstraints": [spread],
        },
    )
    body = template["spec"]["containers"][0]
    body["volumeMounts"].append({"name": CLAIM, "mountPath": DATA})
    body["ports"] = [
        {"name": "ovsdb", "containerPort": database.port, "protocol": "TCP"},
        {"name": "raft", "containerPort": database.raft_port, "protocol": "TCP"},
    ]
    return template


def _probes(database: Database) -> dict[str, Any]:
    """A server is ready when it is a member of the cluster and knows the leader."""
    asked = f"ovs-appctl --timeout=5 -t {CONTROL} cluster/status {database.schema}"
    check = f"{asked} | grep -q '^Leader: [^u]'"
    member = {"exec": {"command": ["sh", "-c", check]}, "timeoutSeconds": 10}
    alive = ["ovs-appctl", "--timeout=5", "-t", CONTROL, "version"]
    return {
        "startupProbe": {**member, "periodSeconds": 1, "failureThreshold": 600},
        "readinessProbe": {**member, "periodSeconds": 10, "failureThreshold": 2},
        "livenessProbe": {
            "exec": {"command": alive},
            "timeoutSeconds": 10,
            "periodSeconds": 30,
            "failureThreshold": 4,
        },
    }


def _claim(view: View, database: Database) -> Object:
    """Of servers that exist the claim stays as it is, because it cannot be changed."""
    settings = database.settings(view)
    size, storage_class = settings.storage.size, settings.storage.storage_class
    live = view.get(STATEFUL_SET, view.named(database.component)) or {}
    for known in (live.get("spec") or {}).get("volumeClaimTemplates") or ():
        size = known["spec"]["resources"]["requests"]["storage"]
        storage_class = known["spec"].get("storageClassName")
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    labels = view.selector(database.component)
    return {"metadata": {"name": CLAIM, "labels": labels}, "spec": spec}


def claims(view: View) -> Iterable[Key]:
    """The volumes' claims of both databases."""
    for database in BOTH:
        name = view.named(database.component).name
        for number in range(database.settings(view).replicas):
            yield view.key(f"{CLAIM}-{name}-{number}")


def _port(name: str, port: int, target: int) -> Object:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}


def _programs() -> dict[str, str]:
    folder = resources.files("cobaltcore.operators.ovn.inside")
    return {name: folder.joinpath(name).read_text() for name in ("start_database.py",)}
