"""Monitor, manager and storage daemon as Deployments, with Rook's names and labels. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DEPLOYMENT,
    PERSISTENT_VOLUME_CLAIM,
    SERVICE,
)
from cobaltcore.lab.ceph import config, identity
from cobaltcore.runtime import diff
from cobaltcore.runtime.meta import Desired, Key, Object

PROGRAMS = "rook-ceph-lab"
ASK = ("python3", "/etc/ceph/ask.py")
DATA_PATH = "/var/lib/ceph/data"
CEPH_USER = 64045
MON_SERVICE = f"rook-ceph-mon-{identity.MON_ID}"
MON_SELECTOR = f"app=rook-ceph-mon,ceph_daemon_id={identity.MON_ID}"


@dataclass(frozen=True, slots=True)
class Daemon:
    """One daemon: which it is, what it may read, what it keeps."""

    type: str
    id: str
    keyring: str
    cpu: str
    memory: str
    disk: str = ""
    probe: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Of its Deployment, and of its claim if it has one."""
        return f"rook-ceph-{self.type}-{self.id}"

    @property
    def labels(self) -> dict[str, str]:
        """As Rook sets them."""
        return {
            "app": f"rook-ceph-{self.type}",
            "ceph_daemon_id": self.id,
            "ceph_daemon_type": self.type,
            self.type: self.id,
        }


MON = Daemon(
    "mon",
    identity.MON_ID,
    "rook-ceph-mons-keyring",
    cpu="50m",
    memory="100Mi",
    disk="2Gi",
    probe={"tcpSocket": {"port": 3300}, "periodSeconds": 1},
)
MGR = Daemon("mgr", identity.MGR_ID, f"rook-ceph-mgr-{identity.MGR_ID}-keyring", "50m", "320Mi")
OSD = Daemon("osd", "0", "rook-ceph-osd-keyring", "100m", "256Mi", f"{config.DISK_BYTES >> 30}Gi")
ALL = (MON, MGR, OSD)
# A storage daemon says goodbye to the monitor, so it goes first.
STOP_ORDER = (OSD, MGR, MON)


def service(namespace: str) -> Desired:
    """The address of the monitor; clients have to reach it before it is ready to serve."""
    ports = {"tcp-msgr1": 6789, "tcp-msgr2": 3300}
    body = {
        "metadata": {"name": MON_SERVICE, "namespace": namespace, "labels": MON.labels},
        "spec": {
            "selector": MON.labels,
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
                for name, port in ports.items()
            ],
        },
    }
    return Desired(SERVICE, body)


def claims(namespace: str) -> Iterator[Desired]:
    """Volumes of the daemons; they belong to nobody, so that they outlive the cluster's object."""
    for daemon in ALL:
        if daemon.disk:
            body = {
                "metadata": {
                    "name": daemon.name,
                    "namespace": namespace,
                    "labels": daemon.labels,
                },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": daemon.disk}},
                },
            }
            yield Desired(PERSISTENT_VOLUME_CLAIM, body, once=True)


def programs(namespace: str, fsid: str, address: str) -> Desired:
    """Settings and what runs in the containers."""
    files = {
        "ceph.conf": config.render(config.sections(fsid, address)),
        **{name: _program(name) for name in ("ask.py", "start.py")},
    }
    meta = {"name": PROGRAMS, "namespace": namespace}
    return Desired(CONFIG_MAP, {"metadata": meta, "data": files})


def deployments(given: Desired, image: str, fsid: str, address: str) -> Iterator[Desired]:
    """All daemons, started again when `given`, their programs and settings, change."""
    namespace = given.key.namespace
    for daemon in ALL:
        body = {
            "metadata": {"name": daemon.name, "namespace": namespace, "labels": daemon.labels},
            "spec": {
                "replicas": 1,
                "revisionHistoryLimit": 1,
                "selector": {"matchLabels": daemon.labels},
                # Two of the same daemon must never have the same data.
                "strategy": {"type": "Recreate"},
                "template": {
                    "metadata": {
                        "labels": daemon.labels,
                        "annotations": {"c5c3.io/config": diff.digest(given.body["data"])},
                    },
                    "spec": _pod(daemon, image, fsid, address),
                },
            },
        }
        yield Desired(DEPLOYMENT, body)


def is_available(deployment: Object | None) -> bool:
    """Whether the newest version of a daemon runs."""
    if deployment is None or deployment["metadata"].get("deletionTimestamp"):
        return False
    status = deployment.get("status") or {}
    return (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("availableReplicas") == 1
        and status.get("replicas") == 1
    )


def key(daemon: Daemon, namespace: str) -> Key:
    """The name of a daemon's Deployment and claim."""
    return Key(namespace, daemon.name)


def _program(name: str) -> str:
    return resources.files("cobaltcore.lab.ceph.inside").joinpath(name).read_text()


def _pod(daemon: Daemon, image: str, fsid: str, address: str) -> Object:
    volumes: dict[str, tuple[str, Object]] = {
        "programs": ("/etc/ceph", {"configMap": {"name": PROGRAMS}}),
        "keyring": ("/etc/ceph-keyring", {"secret": {"secretName": daemon.keyring}}),
        "run": ("/run/ceph", {"emptyDir": {}}),
        "tmp": ("/tmp", {"emptyDir": {}}),  # noqa: S108 of the container
    }
    if daemon.disk:
        claim = {"persistentVolumeClaim": {"claimName": daemon.name}}
        volumes["data"] = (DATA_PATH, claim)
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # A daemon that cannot say goodbye to a monitor that is gone, too, may be killed: its data
        # stands that.
        "terminationGracePeriodSeconds": 10,
        "securityContext": {
            "runAsUser": CEPH_USER,
            "runAsGroup": CEPH_USER,
            "fsGroup": CEPH_USER,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(daemon, image, volumes, fsid, address)],
        "volumes": [{"name": name, **source} for name, (_, source) in volumes.items()],
    }


def _container(
    daemon: Daemon,
    image: str,
    volumes: Mapping[str, tuple[str, Object]],
    fsid: str,
    address: str,
) -> Object:
    own_address = {"fieldRef": {"fieldPath": "status.podIP"}}
    return {
        "name": daemon.type,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "/etc/ceph/start.py", daemon.type, daemon.id],
        "env": [
            {"name": "POD_IP", "valueFrom": own_address},
            {"name": "CEPH_FSID", "value": fsid},
            {"name": "CEPH_PUBLIC_ADDRESS", "value": address},
            {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
        ],
        "resources": {"requests": {"cpu": daemon.cpu, "memory": daemon.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": name, "mountPath": path} for name, (path, _) in volumes.items()],
        **({"readinessProbe": dict(daemon.probe)} if daemon.probe else {}),
    }
