"""The store of an informer: the newest known version of every object of a kind, with indexes.

Objects arrive twice, from the watch and from the responses to own writes, so a version that is
older than the stored one is ignored. Callers must not change what they read.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.faults import Faults
from cobaltcore.runtime.index import Index
from cobaltcore.runtime.meta import Key, Object

IndexFunction = Callable[[Object], Iterable[str]]


class Change(NamedTuple):
    """A change of one object; `before` is None if it was created, `after` if it was deleted."""

    key: Key
    before: CachedObject | None
    after: CachedObject | None
    initial: bool = False
    own_status_update: bool = False
    """Nothing differs but a status that this process is writing."""

    @property
    def old(self) -> Object | None:
        return self.before.object if self.before is not None else None

    @property
    def new(self) -> Object | None:
        return self.after.object if self.after is not None else None

    @property
    def latest(self) -> Object:
        """The object as it is, or as it was before its deletion."""
        found = self.after if self.after is not None else self.before
        if found is None:
            raise ValueError("a change without an object")
        return found.object


def version_of(obj: Object) -> int:
    """The resource version as a number: versions of one kind increase."""
    return int(obj["metadata"].get("resourceVersion") or 0)


class Store:
    """Objects of one kind by key and by index."""

    def __init__(self, faults: Faults | None = None) -> None:
        self._faults = faults or Faults("")
        self._known: dict[Key, CachedObject] = {}
        self._indexes: dict[str, Index] = {"owner": Index(lambda state: state.owners)}
        self._removed: dict[Key, int] = {}
        self.own_status_updates: dict[Key, Mapping[str, Any]] = {}
        """The statuses that this process is writing."""

    def __len__(self) -> int:
        return len(self._known)

    def add_index(self, name: str, function: IndexFunction, *, spec_only: bool = False) -> None:
        """Index objects by the values that `function` returns, see `Informer.add_index`."""
        if name in self._indexes:
            return
        index = Index(lambda state: function(state.object), spec_only=spec_only)
        self._indexes[name] = index
        for known in self._known.values():
            self._update(name, index, None, known)

    def get(self, key: Key) -> Object | None:
        known = self._known.get(key)
        return known.object if known is not None else None

    def known(self) -> list[CachedObject]:
        """The newest version of every object."""
        return list(self._known.values())

    def objects(self, namespace: str = "") -> list[Object]:
        """All objects, or those of one namespace."""
        return [
            known.object
            for key, known in self._known.items()
            if not namespace or key.namespace == namespace
        ]

    def find(self, index: str, value: str) -> list[Object]:
        """Objects for which an index function returned `value`."""
        return [self._known[key].object for key in self._indexes[index].find(value)]

    def put(self, new: CachedObject, *, initial: bool = False) -> Change | None:
        """Store a version; return the change, or None if it is not newer."""
        key = new.key
        old = self._known.get(key)
        newest = old.version if old is not None else self._removed.get(key, -1)
        if new.version <= newest:
            return None
        self._removed.pop(key, None)
        self._known[key] = new
        for name, index in self._indexes.items():
            self._update(name, index, old, new)
        return Change(key, old, new, initial, self._is_own_status_update(old, new))

    def remove(self, key: Key, *, version: int) -> Change | None:
        """Forget an object that was deleted at `version`."""
        old = self._known.get(key)
        if old is None or old.version > version:
            return None
        for index in self._indexes.values():
            index.remove(key)
        self._faults.forget(key)
        del self._known[key]
        self._removed[key] = version
        return Change(key, old, None)

    def retain(self, keys: set[Key], *, version: int) -> list[Change]:
        """Forget everything but `keys`: the result of a list at `version`."""
        gone = [key for key in self._known if key not in keys]
        self._removed.clear()
        return [change for key in gone if (change := self.remove(key, version=version))]

    def _update(
        self, name: str, index: Index, old: CachedObject | None, new: CachedObject
    ) -> None:
        """An object that an index function cannot handle is in the store and not in that index."""
        step = f"index {name!r}"
        failed_before = self._faults.has(new.key, step)
        try:
            index.update(None if failed_before else old, new)
        except Exception as error:  # noqa: BLE001 the object is at fault, others go on
            index.remove(new.key)
            self._faults.record(new.key, step, error)
        else:
            if failed_before:
                self._faults.resolve(new.key, step)

    def _is_own_status_update(self, old: CachedObject | None, new: CachedObject) -> bool:
        if old is None or new.key not in self.own_status_updates:
            return False
        return new.same_apart_from_status(old) and bool(
            new.status == self.own_status_updates[new.key]
        )


class OwnStatusUpdate:
    """A `with` block in which this process writes the status of an object."""

    __slots__ = ("_key", "_status", "_store")

    def __init__(self, store: Store, key: Key, status: Mapping[str, Any]) -> None:
        self._store = store
        self._key = key
        self._status = status

    def __enter__(self) -> None:
        self._store.own_status_updates[self._key] = self._status

    def __exit__(self, *_: object) -> None:
        self._store.own_status_updates.pop(self._key, None)
