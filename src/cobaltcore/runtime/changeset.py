"""The outcome of applying, as data for logs, events, plans and tests."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from cobaltcore.runtime.meta import Key, Kind, Object

Outcome = Literal["created", "configured", "unchanged", "deleted"]


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome for one object."""

    kind: Kind
    key: Key
    outcome: Outcome
    live: Object | None = None


@dataclass(slots=True)
class ChangeSet:
    """The outcomes for all objects of a reconcile."""

    entries: list[Applied] = field(default_factory=list)

    def add(self, entry: Applied) -> None:
        self.entries.append(entry)

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return any(entry.outcome != "unchanged" for entry in self.entries)

    def summary(self) -> dict[str, int]:
        """How many objects had each outcome, without unchanged ones."""
        counts = Counter(entry.outcome for entry in self.entries)
        counts.pop("unchanged", None)
        return {str(outcome): count for outcome, count in counts.items()}
