"""A repository of Fernet keys as Keystone reads it, and its rotation. Pure.

Keystone names keys by number: 0 is staged (it will encrypt next), the highest number encrypts, the
others only decrypt. A rotation promotes the staged key, which all pods have by then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

import msgspec

from cobaltcore.engine.desired import names, secret
from cobaltcore.runtime.meta import Object
from cobaltcore.runtime.timestamps import parse_timestamp, timestamp

STAGED = 0
FIRST = 1
PROPAGATION = timedelta(minutes=2)
"""After this long every kubelet has brought a new key into its pods."""
MOST_KEYS = 100
"""Keystone tries them one after the other."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys, and since when each old one encrypts nothing any more."""

    keys: Mapping[int, str] = field(repr=False)
    rotated_at: datetime
    superseded: Mapping[int, datetime] = field(default_factory=dict)

    @classmethod
    def created(cls, make: Callable[[], str], now: datetime) -> Self:
        """A staged key and one that encrypts."""
        return cls({STAGED: make(), FIRST: make()}, now)

    @classmethod
    def read(cls, found: Object, now: datetime) -> Self:
        """What a Secret holds; without a record all old keys were in use until the last rotation."""
        notes = found["metadata"].get("annotations") or {}
        rotated_at = notes.get(names.ROTATED_AT)
        keys = {int(name): text for name, text in secret.texts(found).items() if name.isdecimal()}
        at = parse_timestamp(rotated_at) if rotated_at else now
        record = _record(notes.get(names.SUPERSEDED, "{}"))
        old = sorted(number for number in keys if number != STAGED)[:-1]
        return cls(keys, at, {number: record.get(number, at) for number in old})

    @property
    def primary(self) -> int:
        """The key that encrypts."""
        return max(self.keys)

    @property
    def annotations(self) -> dict[str, str]:
        """What `read` needs besides the keys."""
        found = {names.ROTATED_AT: timestamp(self.rotated_at)}
        if self.superseded:
            record = {number: timestamp(at) for number, at in sorted(self.superseded.items())}
            found[names.SUPERSEDED] = msgspec.json.encode(record).decode()
        return found

    @property
    def values(self) -> dict[str, str]:
        """The content of a Secret."""
        return {str(number): text for number, text in sorted(self.keys.items())}

    def rotated(
        self,
        limit: int,
        make: Callable[[], str],
        now: datetime,
        *,
        needed: timedelta = timedelta(0),
    ) -> Self:
        """Promote the staged key, and drop old ones beyond the limit.

        A key that encrypted something which lives for `needed` stays until that is over.
        """
        superseded = {**self.superseded, self.primary: now}
        newest = sorted(superseded)[-(limit - 2) :]
        kept = {
            number: since
            for number, since in superseded.items()
            if number in newest or since + PROPAGATION + needed > now
        }
        keys = {number: self.keys[number] for number in kept}
        promoted = {STAGED: make(), self.primary + 1: self.keys[STAGED]}
        return type(self)({**keys, **promoted}, now, kept)

    def has_room_at(self, needed: timedelta) -> datetime:
        """When a rotation leaves no more keys than Keystone should try."""
        ends = sorted(since + PROPAGATION + needed for since in self.superseded.values())
        excess = len(self.keys) + 1 - MOST_KEYS
        return ends[excess - 1] if excess > 0 else self.rotated_at


def _record(text: str) -> dict[int, datetime]:
    """Times by number of the key; none if another writer set the annotation."""
    try:
        return msgspec.json.decode(text, type=dict[int, datetime])
    except msgspec.MsgspecError:
        return {}
