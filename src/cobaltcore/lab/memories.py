"""What the API server remembers of pods whose node was down: they say Ready until their kubelet speaks.

A cluster's node controller takes that word back when a node is away for long. Nodes of a lab are
back sooner, and nobody may take a memory for a pod that serves.
"""

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import conditioned
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Object, key_of

_WITHDRAWN = {
    "status": "False",
    "reason": "NodeRestarted",
    "message": "the node was started again, and its kubelet has not told of this pod since",
}
_CONDITIONS = ("Ready", "ContainersReady")


async def withdraw(client: Client, nodes: AbstractSet[str]) -> None:
    """Let no pod of these nodes count as Ready until its kubelet has looked at it."""
    if not nodes:
        return
    pods = [pod async for page, _ in client.list_pages(POD) for pod in page]
    await asyncio.gather(*(_withdraw(client, pod) for pod in stale(pods, nodes)))


def stale(pods: Iterable[Object], nodes: AbstractSet[str]) -> list[Object]:
    """Pods of these nodes that are said to serve."""
    here = (pod for pod in pods if pod["spec"].get("nodeName") in nodes)
    return [pod for pod in here if conditioned.is_true(pod, "Ready")]


def withdrawn(pod: Object) -> Object:
    """A change to the status of this very version of a pod."""
    conditions = [
        {**each, **_WITHDRAWN} if each["type"] in _CONDITIONS else each
        for each in pod["status"]["conditions"]
    ]
    version = pod["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}}


async def _withdraw(client: Client, pod: Object) -> None:
    try:
        await client.patch(POD, key_of(pod), withdrawn(pod), subresource="status")
    except (errors.Conflict, errors.NotFound):
        # The kubelet was faster: what it says is no memory.
        return
