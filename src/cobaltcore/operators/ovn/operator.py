"""OVN: the network's databases and the nodes that take part in it."""

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.api.ovn import CHASSIS, CLUSTER
from cobaltcore.engine.operator import Context, Operator
from cobaltcore.engine.rights import Rights, Rule
from cobaltcore.operators.ovn.chassis_owner import ChassisOwner
from cobaltcore.operators.ovn.controller import CHILDREN, ClusterController
from cobaltcore.runtime.admission import Webhooks


def _webhooks(context: Context, table: Webhooks) -> None:
    table.defaulting(CHASSIS, ChassisOwner(context.cluster).default)


OPERATOR = Operator(
    "ovn",
    controllers=lambda context: [ClusterController(context).controller],
    webhooks=_webhooks,
    rights=Rights(
        serves=(CLUSTER, CHASSIS),
        makes=(CHASSIS, *(kind for kind, _ in CHILDREN)),
        # A chassis belongs to its Node, and holds up the deletion of it.
        extra=(Rule(NODE.group, (f"{NODE.plural}/finalizers",), ("update",)),),
    ),
)
