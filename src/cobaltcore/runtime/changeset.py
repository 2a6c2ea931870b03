"""What applying did, as data: feeds logs, events, plans and tests."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from cobaltcore.runtime.meta import Key, Kind, Object

Outcome = Literal["created", "configured", "unchanged", "deleted"]


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one object."""

    kind: Kind
    key: Key
    outcome: Outcome
    live: Object | None = None


@dataclass(slots=True)
class ChangeSet:
    """What became of all objects of a pass."""

    entries: list[Applied] = field(default_factory=list)

    def add(self, entry: Applied) -> None:
        """Record one outcome."""
        self.entries.append(entry)

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return any(entry.outcome != "unchanged" for entry in self.entries)

    def summary(self) -> dict[str, int]:
        """How many objects had each outcome, without those that were left alone."""
        counts = Counter(entry.outcome for entry in self.entries)
        counts.pop("unchanged", None)
        return {str(outcome): count for outcome, count in counts.items()}
