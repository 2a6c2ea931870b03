"""OVN: the databases of the network and the nodes that take part in it."""

from cobaltcore.api.foreign.kubernetes import NODE
from cobaltcore.api.ovn import CHASSIS
from cobaltcore.engine.context import Context
from cobaltcore.engine.operator import Operator
from cobaltcore.engine.rights import Rule
from cobaltcore.operators.ovn.chassis_owner import ChassisOwner
from cobaltcore.operators.ovn.planner import OVNPlanner
from cobaltcore.runtime.admission import Webhooks


def _webhooks(context: Context, table: Webhooks) -> None:
    table.defaulting(CHASSIS, ChassisOwner(context.cluster).default)


OPERATOR = Operator(
    "ovn",
    (OVNPlanner(),),
    webhooks=_webhooks,
    reports_on=(CHASSIS,),
    # A chassis belongs to its Node, and holds up the deletion of it.
    extra=(Rule(NODE.group, (f"{NODE.plural}/finalizers",), ("update",)),),
)
