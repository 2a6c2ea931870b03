"""What a reconcile would find and do, as data for people who ask. Pure."""

from dataclasses import dataclass, field
from typing import Any

from cobaltcore.engine.observed import Contents
from cobaltcore.engine.plan import Plan
from cobaltcore.runtime.meta import Key, Kind


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a reconcile would find and do."""

    plan: Plan[Any]
    named: tuple[tuple[Kind, Key], ...]
    """Objects that the spec names."""
    contents: Contents = field(repr=False)
    """Secrets and ConfigMaps with their data."""
    has_probes: bool
    """Whether the verdict depends on questions that were not asked."""
