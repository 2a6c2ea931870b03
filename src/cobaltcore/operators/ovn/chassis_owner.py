"""Admission of OVNChassis: an owner that is named without its uid gets it from the Node."""

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.runtime.admission import AdmissionRequest
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object


class ChassisOwner:
    """Completes owner references, so that a chassis can be written by hand."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.informer(NODE)

    async def default(self, request: AdmissionRequest) -> Object:
        """Fill in missing uids; an unknown Node is left for the API server to refuse."""
        chassis = request.object or {}
        meta = chassis.get("metadata") or {}
        references = [self._complete(each) for each in meta.get("ownerReferences") or ()]
        if not references:
            return chassis
        return {**chassis, "metadata": {**meta, "ownerReferences": references}}

    def _complete(self, reference: Object) -> Object:
        if reference.get("uid") or reference.get("kind") != NODE.kind:
            return reference
        node = self._nodes.get(Key("", reference["name"]))
        return reference if node is None else {**reference, "uid": node["metadata"]["uid"]}
