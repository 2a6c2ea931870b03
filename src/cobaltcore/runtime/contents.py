"""Content of objects whose informer caches metadata only: Secrets and ConfigMaps.

Objects with the cluster's `content_labels`, which are those that this product has created, come
with their content from a watch of their own. Others are fetched when they are read, once per version.
"""

from collections.abc import Mapping
from dataclasses import replace

from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.clock import Clock
from cobaltcore.runtime.informer import Informer
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope
from cobaltcore.runtime.store import Change, version_of


class Contents:
    """Content of the objects of one kind."""

    def __init__(self, watched: Informer | None, labels: Mapping[str, str]) -> None:
        self.watched = watched
        self._labels = labels
        self._fetched: dict[Key, Object] = {}

    def get(self, key: Key, *, version: int) -> Object | None:
        """The object with its content if it is cached in this version or a newer one."""
        candidates = (
            self.watched.get(key) if self.watched is not None else None,
            self._fetched.get(key),
        )
        return next((each for each in candidates if each and version_of(each) >= version), None)

    def put(self, state: CachedObject) -> None:
        """Cache the response to a request, ahead of the watch."""
        if self.watched is not None and self._labels.items() <= state.labels.items():
            self.watched.observe(state)
        else:
            self._fetched[state.key] = state.object

    def drop_outdated(self, change: Change) -> None:
        """Forget what was fetched of an older version."""
        content = self._fetched.get(change.key)
        if content is None:
            return
        if change.after is None or version_of(content) < change.after.version:
            del self._fetched[change.key]


def watch(
    client: Client,
    kind: Kind,
    scope: WatchScope,
    labels: Mapping[str, str],
    *,
    cluster: str,
    clock: Clock,
) -> Contents:
    """The contents of a kind that is cached as `scope`; without labels all of it is fetched."""
    if not labels:
        return Contents(None, labels)
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    if scope.selector:
        selector = f"{scope.selector},{selector}"
    labelled = replace(scope, selector=selector, metadata_only=False)
    name = f"{kind} content"
    return Contents(
        Informer(client, kind, labelled, cluster=cluster, label=name, clock=clock), labels
    )
