"""Credentials: replaced in time, and put together for the programs that read them."""

from collections.abc import Iterable

from cobaltcore.api.credentials import AGGREGATE, ROTATION
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.operator import Context, Operator
from cobaltcore.engine.rights import Rights
from cobaltcore.operators.credentials.aggregate import Aggregation
from cobaltcore.operators.credentials.rotation import Rotation
from cobaltcore.runtime.controller import Controller


def _controllers(context: Context) -> Iterable[Controller]:
    return [Aggregation(context).controller, Rotation(context).controller]


OPERATOR = Operator(
    "credentials",
    _controllers,
    rights=Rights(serves=(AGGREGATE, ROTATION), makes=(SECRET, korc.APPLICATION_CREDENTIAL)),
)
