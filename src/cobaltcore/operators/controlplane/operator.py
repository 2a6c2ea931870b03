"""The orchestrator: one ControlPlane object becomes everything else."""

from cobaltcore.api.controlplane import KIND
from cobaltcore.engine.operator import Operator
from cobaltcore.engine.rights import Rights
from cobaltcore.operators.controlplane.controller import CHILDREN, ControlPlaneController

OPERATOR = Operator(
    "c5c3",
    lambda context: [ControlPlaneController(context).controller],
    rights=Rights(serves=(KIND,), makes=tuple(kind for kind, _ in CHILDREN)),
)
