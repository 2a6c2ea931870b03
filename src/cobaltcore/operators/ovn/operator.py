"""OVN: the network's databases and the nodes that take part in it."""

from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.operator import Context, Operator
from cobaltcore.operators.ovn.chassis_owner import ChassisOwner
from cobaltcore.operators.ovn.controller import ClusterController
from cobaltcore.runtime.admission import Webhooks


def _webhooks(context: Context, table: Webhooks) -> None:
    table.defaulting(CHASSIS, ChassisOwner(context.cluster).default)


OPERATOR = Operator(
    "ovn",
    controllers=lambda context: [ClusterController(context).controller],
    webhooks=_webhooks,
)
