"""Sets pods of restarted nodes to not Ready, until their kubelet reports them again.

The node lifecycle controller does this when a node is unreachable for long. Nodes of a lab restart
faster, and a stale Ready condition must not count as a serving pod.
"""

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import readiness
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Object, key_of

_NOT_READY = {
    "status": "False",
    "reason": "NodeRestarted",
    "message": "the node restarted and its kubelet has not reported this pod since",
}
_CONDITIONS = ("Ready", "ContainersReady")


async def mark_not_ready(client: Client, nodes: AbstractSet[str]) -> None:
    """Set all Ready pods of these nodes to not Ready."""
    if not nodes:
        return
    pods = [pod async for page, _ in client.list_pages(POD) for pod in page]
    await asyncio.gather(*(_patch(client, pod) for pod in stale(pods, nodes)))


def stale(pods: Iterable[Object], nodes: AbstractSet[str]) -> list[Object]:
    """Pods of these nodes whose condition Ready is true."""
    here = (pod for pod in pods if pod["spec"].get("nodeName") in nodes)
    return [pod for pod in here if readiness.is_true(pod, "Ready")]


def not_ready_patch(pod: Object) -> Object:
    """A status patch that conflicts if the kubelet has updated the pod meanwhile."""
    conditions = [
        {**each, **_NOT_READY} if each["type"] in _CONDITIONS else each
        for each in pod["status"]["conditions"]
    ]
    version = pod["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}}


async def _patch(client: Client, pod: Object) -> None:
    try:
        await client.patch(POD, key_of(pod), not_ready_patch(pod), subresource="status")
    except (errors.Conflict, errors.NotFound):
        # The kubelet has reported meanwhile.
        return
