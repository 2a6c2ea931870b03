"""Provisioner of the StorageClass `local`: volumes are directories under a node's /var/lib.

Runs on the host, which can access the directories of all nodes; so a volume takes two requests and no
helper pod. `python -m cobaltlab.storage DIRECTORY`.
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
from cobaltcore.runtime import errors, kubeconfig, log
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Controller, Source, itself
from cobaltcore.runtime.http_transport import HttpTransport
from cobaltcore.runtime.manager import Manager
from cobaltcore.runtime.meta import Key, Object
from cobaltlab import manifests, statedir, waiting

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
VOLUMES = "/var/lib/cobaltcore-volumes"

_log = log.get("storage")


class Provisioner:
    """Creates PersistentVolumes for pending claims and deletes released ones."""

    def __init__(self, cluster: Cluster, state_dir: statedir.StateDir) -> None:
        self._cluster = cluster
        self._state_dir = state_dir
        self.controllers = [
            Controller(
                "claims", self.provide, [Source(kubernetes.PERSISTENT_VOLUME_CLAIM, itself)]
            ),
            Controller("volumes", self.reclaim, [Source(kubernetes.PERSISTENT_VOLUME, itself)]),
        ]

    async def provide(self, key: Key) -> timedelta | None:
        """Create the volume of a claim for which the scheduler has selected a node."""
        claim = self._cluster.informer(kubernetes.PERSISTENT_VOLUME_CLAIM).get(key)
        if claim is None or not _is_pending(claim):
            return None
        node = claim["metadata"]["annotations"][SELECTED_NODE]
        body = volume(claim, node=node)
        name = body["metadata"]["name"]
        self._directory(node, name).mkdir(mode=0o777, parents=True, exist_ok=True)
        # The umask applies to mkdir; pods of any user may write.
        self._directory(node, name).chmod(0o777)
        try:
            await self._cluster.client.create(kubernetes.PERSISTENT_VOLUME, body)
        except errors.AlreadyExists:
            return None
        _log.info("volume created", claim=str(key), volume=name, node=node)
        return None

    async def reclaim(self, key: Key) -> timedelta | None:
        """Delete a released volume and its data, if its reclaim policy is Delete."""
        found = self._cluster.informer(kubernetes.PERSISTENT_VOLUME).get(key)
        if found is None or not _is_released(found):
            return None
        node = found["metadata"]["labels"]["kubernetes.io/hostname"]
        await asyncio.to_thread(_remove, self._directory(node, key.name))
        await self._cluster.client.delete(
            kubernetes.PERSISTENT_VOLUME, key, uid=found["metadata"]["uid"]
        )
        _log.info("volume deleted", volume=key.name, node=node)
        return None

    def _directory(self, node: str, name: str) -> Path:
        return self._state_dir.node(node) / "root" / VOLUMES.lstrip("/") / name


def volume(claim: Mapping[str, Any], *, node: str) -> Object:
    """The PersistentVolume of a claim, with affinity to the node of the directory."""
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


def _is_pending(claim: Object) -> bool:
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


async def run(state_dir: statedir.StateDir) -> None:
    """Run the controllers once the API server is ready."""
    connection = kubeconfig.load(state_dir.kubeconfig, environ={})
    client = Client(HttpTransport(connection, agent="cobalt-storage"))
    await waiting.wait_until(lambda: waiting.api_server_is_ready(client), within=None, interval=1)
    cluster = Cluster(client)
    manager = Manager({cluster.name: cluster}, Provisioner(cluster, state_dir).controllers)
    manager.stop_on_signals()
    await manager.run()


if __name__ == "__main__":
    log.configure()
    directory = Path(sys.argv[1])
    uvloop.run(run(statedir.StateDir(directory.name, directory)))
