"""The orchestrator: one ControlPlane object becomes everything else."""

from cobaltcore.engine.operator import Operator
from cobaltcore.operators.controlplane.controller import ControlPlaneController

OPERATOR = Operator("c5c3", lambda context: [ControlPlaneController(context).controller])
