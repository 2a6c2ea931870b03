"""Admission warnings for kinds that no operator of this release serves. Pure."""

from functools import partial

from cobaltcore.engine import registry
from cobaltcore.runtime.admission import Webhooks
from cobaltcore.runtime.meta import Kind, Object


def register(table: Webhooks) -> None:
    """Return a warning when an object of such a kind is written."""
    for kind in registry.kinds_without_operator():
        table.advising(kind, partial(warnings, kind))


def warnings(kind: Kind, _: Object) -> tuple[str, ...]:
    """The warning that kubectl shows."""
    return (f"kind {kind.kind} is accepted but no operator of this release serves it yet",)
