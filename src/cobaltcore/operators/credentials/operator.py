"""Credentials: Secrets put together for the programs that read them."""

from collections.abc import Iterable

from cobaltcore.engine.operator import Context, Operator
from cobaltcore.operators.credentials.aggregate import Aggregation
from cobaltcore.runtime.controller import Controller


def _controllers(context: Context) -> Iterable[Controller]:
    return [Aggregation(context).controller]


OPERATOR = Operator("credentials", _controllers)
