"""Volumes for claims on simulated nodes, where no provisioner runs."""

from cobaltcore.api.foreign.kubernetes import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Key
from tests.support.operating import eventually


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
                "hostPath": {"path": f"/simulated/{claim.namespace}"},
                "claimRef": {"namespace": claim.namespace, "name": claim.name},
            },
        },
    )


async def bind(client: Client, claim: Key) -> None:
    """Make a claim of a StatefulSet with its volume before the StatefulSet does.

    A pod that is scheduled while its claim is being bound may have to wait for the scheduler's
    next look, minutes later.
    """
    await offer(client, claim)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await client.create(
        PERSISTENT_VOLUME_CLAIM,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim.name, "namespace": claim.namespace},
            "spec": spec,
        },
    )

    async def is_bound() -> bool:
        found = await client.get(PERSISTENT_VOLUME_CLAIM, claim)
        return bool((found.get("status") or {}).get("phase") == "Bound")

    await eventually(is_bound, f"claim {claim} is bound")
