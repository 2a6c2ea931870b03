"""Indexes of a store: objects by the values that a function of them returns."""

from collections.abc import Callable, Iterable, Set

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.meta import Key


class Index:
    """Keys by value, and the values of each key, so that each state is evaluated once."""

    def __init__(
        self, function: Callable[[CachedObject], Iterable[str]], *, spec_only: bool = False
    ) -> None:
        self._function = function
        self._spec_only = spec_only
        self._keys: dict[str, set[Key]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def find(self, value: str) -> Set[Key]:
        """Keys of objects with a value."""
        return self._keys.get(value, frozenset())

    def update(self, old: CachedObject | None, new: CachedObject) -> None:
        """Replace the values of an object."""
        if self._spec_only and old is not None and new.same_spec(old):
            return
        values = tuple(dict.fromkeys(self._function(new)))
        if values == self._values.get(new.key, ()):
            return
        self.remove(new.key)
        if values:
            self._values[new.key] = values
        for value in values:
            self._keys.setdefault(value, set()).add(new.key)

    def remove(self, key: Key) -> None:
        """Forget an object."""
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            keys.discard(key)
            if not keys:
                del self._keys[value]
