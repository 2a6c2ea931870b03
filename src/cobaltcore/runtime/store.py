"""The cache behind an informer: the newest known state of every object of a kind, with indexes.

Objects arrive twice, from the watch and from the answers to our own writes, so a store never goes
back: what is older than the version it holds is ignored. Callers must not change what they read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cobaltcore.runtime.meta import Key, Object, key_of

_WISHES = ("generation", "labels", "annotations", "finalizers", "deletionTimestamp")
IndexFunction = Callable[[Object], Iterable[str]]


class Change(NamedTuple):
    """What happened to one object; `old` or `new` is None when it appeared or went away."""

    key: Key
    old: Object | None
    new: Object | None
    initial: bool = False
    told: bool = False
    """Nothing differs but a status that this process has just written itself."""

    @property
    def latest(self) -> Object:
        """The object as it is, or as it was last seen."""
        found = self.new if self.new is not None else self.old
        if found is None:
            raise ValueError("a change without an object")
        return found


def owner_uids(obj: Object) -> Iterator[str]:
    """Index function: the owners of an object."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        yield reference["uid"]


def version_of(obj: Object) -> int:
    """Resource versions of one kind grow; they are compared as numbers."""
    return int(obj["metadata"].get("resourceVersion") or 0)


def _same_but_status(old: Object, new: Object) -> bool:
    """Whether no wish has changed between two states; a new spec is a new generation."""
    one, other = old["metadata"], new["metadata"]
    return all(one.get(name) == other.get(name) for name in _WISHES)


class Store:
    """Objects of one kind by key and by index."""

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, set[Key]]] = {}
        self._removed: dict[Key, int] = {}
        self.telling: dict[Key, Mapping[str, Any]] = {}
        """The statuses that this process is about to write."""
        self.add_index("owner", owner_uids)

    def __len__(self) -> int:
        return len(self._objects)

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Keep objects findable by the values that `function` tells of them."""
        if name in self._functions:
            return
        self._functions[name] = function
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._link(name, key, obj)

    def get(self, key: Key) -> Object | None:
        """The object of that name, or None."""
        return self._objects.get(key)

    def objects(self, namespace: str = "") -> list[Object]:
        """All objects, or those of one namespace."""
        if not namespace:
            return list(self._objects.values())
        return [obj for key, obj in self._objects.items() if key.namespace == namespace]

    def find(self, index: str, value: str) -> list[Object]:
        """Objects that an index function gave `value` for."""
        return [self._objects[key] for key in self._indexes[index].get(value, ())]

    def put(self, obj: Object, *, initial: bool = False) -> Change | None:
        """Take in a state; return the change, or None if it is nothing new."""
        key = key_of(obj)
        old = self._objects.get(key)
        version = version_of(obj)
        newest = version_of(old) if old is not None else self._removed.get(key, -1)
        if version <= newest:
            return None
        self._removed.pop(key, None)
        if old is not None:
            self._unlink(key, old)
        self._objects[key] = obj
        for name in self._functions:
            self._link(name, key, obj)
        return Change(key, old, obj, initial, self._is_told(key, old, obj))

    def remove(self, key: Key, *, version: int) -> Change | None:
        """Forget an object that went away at `version`."""
        old = self._objects.get(key)
        if old is None or version_of(old) > version:
            return None
        self._unlink(key, old)
        del self._objects[key]
        self._removed[key] = version
        return Change(key, old, None)

    def retain(self, keys: set[Key], *, version: int) -> list[Change]:
        """Forget everything but `keys`: the result of a full listing at `version`."""
        gone = [key for key in self._objects if key not in keys]
        self._removed.clear()
        return [change for key in gone if (change := self.remove(key, version=version))]

    def _is_told(self, key: Key, old: Object | None, new: Object) -> bool:
        if old is None or key not in self.telling:
            return False
        return new.get("status") == self.telling[key] and _same_but_status(old, new)

    def _link(self, name: str, key: Key, obj: Object) -> None:
        index = self._indexes[name]
        for value in self._functions[name](obj):
            index.setdefault(value, set()).add(key)

    def _unlink(self, key: Key, obj: Object) -> None:
        for name, function in self._functions.items():
            index = self._indexes[name]
            for value in function(obj):
                keys = index.get(value)
                if keys is not None:
                    keys.discard(key)
                    if not keys:
                        del index[value]
