"""Monitor, manager and OSD as Deployments, with the names and labels of Rook. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DEPLOYMENT,
    PERSISTENT_VOLUME_CLAIM,
    SERVICE,
)
from cobaltcore.api.pods import Resources
from cobaltcore.deploy import workload
from cobaltcore.engine.desired.containers import Container, PodField
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.probes import Probe, Probes, TcpSocket
from cobaltcore.engine.desired.volumes import Claim, ConfigMap, Secret, Volume
from cobaltcore.runtime import diff
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltlab.ceph import config, identity
from cobaltlab.providers.reconciler import is_deleting

CONFIG = "rook-ceph-lab"
ADMIN_AGENT = ("cobalt-agent", "rook", "admin")
DAEMON_AGENT = ("cobalt-agent", "rook", "daemon")
DATA_PATH = "/var/lib/ceph/data"
CEPH_USER = 64045
MON_SERVICE = f"rook-ceph-mon-{identity.MON_ID}"
MON_SELECTOR = f"app=rook-ceph-mon,ceph_daemon_id={identity.MON_ID}"


@dataclass(frozen=True, slots=True)
class Daemon:
    """One daemon with its keyring, resources and disk."""

    type: str
    id: str
    keyring: str
    cpu: str
    memory: str
    disk: str = ""
    readiness: Probe | None = None

    @property
    def name(self) -> str:
        """Of its Deployment and PersistentVolumeClaim."""
        return f"rook-ceph-{self.type}-{self.id}"

    @property
    def labels(self) -> dict[str, str]:
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
    readiness=Probe(TcpSocket(3300), period_seconds=1),
)
MGR = Daemon("mgr", identity.MGR_ID, f"rook-ceph-mgr-{identity.MGR_ID}-keyring", "50m", "320Mi")
OSD = Daemon("osd", "0", "rook-ceph-osd-keyring", "100m", "256Mi", f"{config.DISK_BYTES >> 30}Gi")
ALL = (MON, MGR, OSD)
# An OSD deregisters from the monitor when it stops.
STOP_ORDER = (OSD, MGR, MON)


def service(namespace: str) -> Desired:
    """The Service of the monitor; the other daemons connect before it is ready."""
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
    """PersistentVolumeClaims without an owner, so that they outlive the CephCluster."""
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


def config_map(namespace: str, fsid: str, address: str) -> Desired:
    """ceph.conf of all daemons."""
    files = {"ceph.conf": config.render(config.sections(fsid, address))}
    meta = {"name": CONFIG, "namespace": namespace}
    return Desired(CONFIG_MAP, {"metadata": meta, "data": files})


def deployments(configuration: Desired, image: str, fsid: str, address: str) -> Iterator[Desired]:
    """All daemons; a change of the ConfigMap restarts them."""
    namespace = configuration.key.namespace
    for daemon in ALL:
        body = {
            "metadata": {"name": daemon.name, "namespace": namespace, "labels": daemon.labels},
            "spec": {
                "replicas": 1,
                "revisionHistoryLimit": 1,
                "selector": {"matchLabels": daemon.labels},
                # Two pods must never use the same data.
                "strategy": {"type": "Recreate"},
                "template": Pod(
                    containers=[_container(daemon, image, fsid, address)],
                    labels=daemon.labels,
                    annotations={"c5c3.io/config": diff.digest(configuration.body["data"])},
                    user=CEPH_USER,
                    # A daemon that cannot deregister because the monitor is down is killed; its
                    # data is safe.
                    grace_period_seconds=10,
                ).template(),
            },
        }
        yield Desired(DEPLOYMENT, body)


def is_available(deployment: Object | None) -> bool:
    """Whether the current revision of a daemon is available."""
    if deployment is None or is_deleting(deployment):
        return False
    status = deployment.get("status") or {}
    return (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("availableReplicas") == 1
        and status.get("replicas") == 1
    )


def key(daemon: Daemon, namespace: str) -> Key:
    """Key of a daemon's Deployment and PersistentVolumeClaim."""
    return Key(namespace, daemon.name)


def _container(daemon: Daemon, image: str, fsid: str, address: str) -> Container:
    volumes = [
        Volume("config", "/etc/ceph", ConfigMap(CONFIG)),
        Volume("keyring", "/etc/ceph-keyring", Secret(daemon.keyring)),
        Volume("run", "/run/ceph"),
    ]
    if daemon.disk:
        volumes.append(Volume("data", DATA_PATH, Claim(daemon.name)))
    return Container(
        name=daemon.type,
        image=workload.parse_image(image),
        command=[*DAEMON_AGENT, daemon.type, daemon.id],
        volumes=volumes,
        environment={
            "CEPH_FSID": fsid,
            "CEPH_PUBLIC_ADDRESS": address,
            "POD_IP": PodField("status.podIP"),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        probes=Probes(readiness=daemon.readiness),
        resources=Resources(requests={"cpu": daemon.cpu, "memory": daemon.memory}),
        pull_policy="IfNotPresent",
    )
