"""The orchestrator: one ControlPlane object becomes everything else."""

from cobaltcore.api.controlplane import KIND
from cobaltcore.engine import optioncheck, unserved
from cobaltcore.engine.context import Context
from cobaltcore.engine.operator import Operator
from cobaltcore.operators.controlplane import advice, incumbent, options
from cobaltcore.operators.controlplane.planner import ControlPlanePlanner
from cobaltcore.runtime import admission
from cobaltcore.runtime.admission import Webhooks


def _webhooks(context: Context, table: Webhooks) -> None:
    planes = context.cluster.informer(KIND).objects
    # The reconciler reports a second ControlPlane that is created while the webhook is down.
    checks = admission.in_turn(
        incumbent.validation(planes, advice.warnings), optioncheck.validation(options.problems)
    )
    table.validating(KIND, checks, optional=True)
    optioncheck.register(table)
    unserved.register(table)


OPERATOR = Operator("c5c3", (ControlPlanePlanner(),), webhooks=_webhooks)
