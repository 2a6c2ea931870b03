"""Volumes for claims of the default storage class: directories under a node's /var/lib.

Runs on the host, beside the supervisor, where the directories of all nodes are in reach; so a
volume costs two requests and no helper pod. `python -m cobaltcore.lab.storage DIRECTORY`.
"""

import asyncio
import shutil
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvloop

from cobaltcore.api.foreign import kubernetes
from cobaltcore.lab import home, manifests
from cobaltcore.runtime import errors, kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.transport import HttpTransport

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
VOLUMES = "/var/lib/cobaltcore-volumes"
START_AGAIN_SECONDS = 1.0

_log = log.get("storage")


class Provisioner:
    """Makes a volume for each claim that waits, and removes volumes that nobody claims."""

    def __init__(self, cluster: Cluster, place: home.Home) -> None:
        self._cluster = cluster
        self._place = place
        self.controllers = [
            Controller(
                "claims", self.provide, [Source(kubernetes.PERSISTENT_VOLUME_CLAIM, itself)]
            ),
            Controller("volumes", self.reclaim, [Source(kubernetes.PERSISTENT_VOLUME, itself)]),
        ]

    async def provide(self, key: Key) -> timedelta | None:
        """Make the volume of a claim for which the scheduler has chosen a node."""
        claim = self._cluster.informer(kubernetes.PERSISTENT_VOLUME_CLAIM).get(key)
        if claim is None or not _waits(claim):
            return None
        node = claim["metadata"]["annotations"][SELECTED_NODE]
        body = volume(claim, node=node)
        name = body["metadata"]["name"]
        self._directory(node, name).mkdir(mode=0o777, parents=True, exist_ok=True)
        # The mode of mkdir is cut by the umask; pods of any user may write.
        self._directory(node, name).chmod(0o777)
        try:
            await self._cluster.client.create(kubernetes.PERSISTENT_VOLUME, body)
        except errors.AlreadyExists:
            return None
        _log.info("volume made", claim=str(key), volume=name, node=node)
        return None

    async def reclaim(self, key: Key) -> timedelta | None:
        """Remove a released volume with its data, if that is its policy."""
        found = self._cluster.informer(kubernetes.PERSISTENT_VOLUME).get(key)
        if found is None or not _is_released(found):
            return None
        node = found["metadata"]["labels"]["kubernetes.io/hostname"]
        await asyncio.to_thread(_remove, self._directory(node, key.name))
        await self._cluster.client.delete(
            kubernetes.PERSISTENT_VOLUME, key, uid=found["metadata"]["uid"]
        )
        _log.info("volume removed", volume=key.name, node=node)
        return None

    def _directory(self, node: str, name: str) -> Path:
        return self._place.node(node) / "root" / VOLUMES.lstrip("/") / name


def volume(claim: Mapping[str, Any], *, node: str) -> Object:
    """The volume of a claim, bound to the node that holds the directory."""
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": node},
            "annotations": {PROVISIONED_BY: manifests.PROVISIONER},
        },
        "spec": {
            "storageClassName": spec["storageClassName"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "local": {"path": f"{VOLUMES}/{name}"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}
            },
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
            },
        },
    }


def _waits(claim: Object) -> bool:
    meta, spec = claim["metadata"], claim["spec"]
    return (
        spec.get("storageClassName") == manifests.STORAGE_CLASS
        and not spec.get("volumeName")
        and not meta.get("deletionTimestamp")
        and SELECTED_NODE in (meta.get("annotations") or {})
    )


def _is_released(found: Object) -> bool:
    annotations = found["metadata"].get("annotations") or {}
    return (
        annotations.get(PROVISIONED_BY) == manifests.PROVISIONER
        and found["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and found.get("status", {}).get("phase") == "Released"
        and not found["metadata"].get("deletionTimestamp")
    )


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)


async def run(place: home.Home) -> None:
    """Serve claims; wait for the API server as long as it takes."""
    connection = kubeconfig.load(place.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent="cobalt-storage"))
    while True:
        try:
            await client.raw("/readyz")
        except (errors.Unreachable, errors.ApiError):
            await asyncio.sleep(START_AGAIN_SECONDS)
        else:
            break
    cluster = Cluster(client)
    manager = Manager({cluster.name: cluster}, Provisioner(cluster, place).controllers)
    manager.stop_on_signals()
    await manager.run()


if __name__ == "__main__":
    log.configure()
    directory = Path(sys.argv[1])
    uvloop.run(run(home.Home(directory.name, directory)))
