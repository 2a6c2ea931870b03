"""Volumes for claims on played nodes, where nobody makes any."""

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key


async def offer(client: Client, claim: Key, *, size: str = "1Gi") -> None:
    """Make the volume that a claim will get."""
    await client.create(
        PERSISTENT_VOLUME,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{claim.namespace}-{claim.name}"},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": f"/played/{claim.namespace}"},
                "claimRef": {"namespace": claim.namespace, "name": claim.name},
            },
        },
    )
