"""Credentials: rotated in time, and merged for the programs that read them."""

from cobaltcore.engine.operator import Operator
from cobaltcore.operators.credentials.aggregate import AggregatePlanner
from cobaltcore.operators.credentials.rotation import RotationPlanner

OPERATOR = Operator("credentials", (AggregatePlanner(), RotationPlanner()))
