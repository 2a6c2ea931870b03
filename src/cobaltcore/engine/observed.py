"""What a reconcile sees of the cluster: caches to look into, and the content of some objects."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cobaltcore.runtime.meta import Key, Kind, Object

Contents = Mapping[tuple[Kind, Key], Object]


@dataclass(frozen=True, slots=True)
class Observed:
    """A view of the caches; nothing here waits or asks a server."""

    lookup: Callable[[Kind, Key], Object | None]
    select: Callable[[Kind, str, str], Iterable[Object]]
    list_all: Callable[[Kind, str], Iterable[Object]] = lambda kind, namespace: ()
    contents: Contents = field(default_factory=dict)
    """Secrets and ConfigMaps with their data, as far as they exist."""
    permit: Callable[[Kind, Key], None] = lambda kind, key: None
    """Raises InputInvalid if the object belongs to a namespace that has not granted access."""

    def get(self, kind: Kind, key: Key) -> Object | None:
        self.permit(kind, key)
        return self.lookup(kind, key)

    def content(self, kind: Kind, key: Key) -> Object | None:
        """A Secret or ConfigMap with its data, or None."""
        self.permit(kind, key)
        return self.contents.get((kind, key))

    def find(self, kind: Kind, index: str, value: str) -> list[Object]:
        """Objects by an index of their kind."""
        return list(self.select(kind, index, value))

    def list(self, kind: Kind, namespace: str = "") -> list[Object]:
        """All objects of a kind, in one namespace or in all."""
        return list(self.list_all(kind, namespace))
