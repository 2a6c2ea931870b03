"""The cache behind an informer: the newest known state of every object of a kind, with indexes.

Objects arrive twice, from the watch and from the answers to our own writes, so a store never goes
back: what is older than the version it holds is ignored. Callers must not change what they read.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from cobaltcore.runtime.meta import Key, Object
from cobaltcore.runtime.sighting import Sighting

IndexFunction = Callable[[Object], Iterable[str]]


class Change(NamedTuple):
    """What happened to one object; `before` or `after` is None when it appeared or went away."""

    key: Key
    before: Sighting | None
    after: Sighting | None
    initial: bool = False
    told: bool = False
    """Nothing differs but a status that this process has just written itself."""

    @property
    def old(self) -> Object | None:
        """The object as it was."""
        return self.before.object if self.before is not None else None

    @property
    def new(self) -> Object | None:
        """The object as it is."""
        return self.after.object if self.after is not None else None

    @property
    def latest(self) -> Object:
        """The object as it is, or as it was last seen."""
        found = self.after if self.after is not None else self.before
        if found is None:
            raise ValueError("a change without an object")
        return found.object


def version_of(obj: Object) -> int:
    """Resource versions of one kind grow; they are compared as numbers."""
    return int(obj["metadata"].get("resourceVersion") or 0)


class Store:
    """Objects of one kind by key and by index."""

    def __init__(self) -> None:
        self._known: dict[Key, Sighting] = {}
        self._functions: dict[str, Callable[[Sighting], Iterable[str]]] = {}
        self._indexes: dict[str, dict[str, set[Key]]] = {}
        self._removed: dict[Key, int] = {}
        self.telling: dict[Key, Mapping[str, Any]] = {}
        """The statuses that this process is about to write."""
        self._index("owner", lambda seen: seen.owner_uids)

    def __len__(self) -> int:
        return len(self._known)

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep objects findable by the values that `function` tells of them."""
        if name not in self._functions:
            self._index(name, lambda seen: function(seen.object))

    def get(self, key: Key) -> Object | None:
        """The object of that name, or None."""
        known = self._known.get(key)
        return known.object if known is not None else None

    def known(self) -> list[Sighting]:
        """The newest state of everything."""
        return list(self._known.values())

    def objects(self, namespace: str = "") -> list[Object]:
        """All objects, or those of one namespace."""
        return [
            known.object
            for key, known in self._known.items()
            if not namespace or key.namespace == namespace
        ]

    def find(self, index: str, value: str) -> list[Object]:
        """Objects that an index function gave `value` for."""
        return [self._known[key].object for key in self._indexes[index].get(value, ())]

    def put(self, seen: Sighting, *, initial: bool = False) -> Change | None:
        """Take in a state; return the change, or None if it is nothing new."""
        key = seen.key
        old = self._known.get(key)
        newest = old.version if old is not None else self._removed.get(key, -1)
        if seen.version <= newest:
            return None
        self._removed.pop(key, None)
        if old is not None:
            self._unlink(old)
        self._known[key] = seen
        for name in self._functions:
            self._link(name, seen)
        return Change(key, old, seen, initial, self._is_told(old, seen))

    def remove(self, key: Key, *, version: int) -> Change | None:
        """Forget an object that went away at `version`."""
        old = self._known.get(key)
        if old is None or old.version > version:
            return None
        self._unlink(old)
        del self._known[key]
        self._removed[key] = version
        return Change(key, old, None)

    def retain(self, keys: set[Key], *, version: int) -> list[Change]:
        """Forget everything but `keys`: the result of a full listing at `version`."""
        gone = [key for key in self._known if key not in keys]
        self._removed.clear()
        return [change for key in gone if (change := self.remove(key, version=version))]

    def _is_told(self, old: Sighting | None, new: Sighting) -> bool:
        if old is None or new.key not in self.telling:
            return False
        return new.wishes_as(old) and bool(new.status == self.telling[new.key])

    def _index(self, name: str, function: Callable[[Sighting], Iterable[str]]) -> None:
        self._functions[name] = function
        self._indexes[name] = {}
        for known in self._known.values():
            self._link(name, known)

    def _link(self, name: str, seen: Sighting) -> None:
        index = self._indexes[name]
        for value in self._functions[name](seen):
            index.setdefault(value, set()).add(seen.key)

    def _unlink(self, seen: Sighting) -> None:
        for name, function in self._functions.items():
            index = self._indexes[name]
            for value in function(seen):
                keys = index.get(value)
                if keys is not None:
                    keys.discard(seen.key)
                    if not keys:
                        del index[value]


class Telling:
    """A `with` block in which this process writes the status of an object."""

    __slots__ = ("_key", "_status", "_store")

    def __init__(self, store: Store, key: Key, status: Mapping[str, Any]) -> None:
        self._store = store
        self._key = key
        self._status = status

    def __enter__(self) -> None:
        self._store.telling[self._key] = self._status

    def __exit__(self, *_: object) -> None:
        self._store.telling.pop(self._key, None)
