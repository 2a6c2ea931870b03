"""A client whose writes change nothing: the API server is asked what it would make of them.

Answers of the server's dry run are kept, so that later reads and writes see them. What follows from
a write elsewhere, such as pods of a Deployment, is answered by a function of the object.
"""

import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cobaltcore.runtime import errors
from cobaltcore.runtime.cached import CachedObject
from cobaltcore.runtime.changeset import Outcome
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.events import EVENT
from cobaltcore.runtime.meta import Key, Kind, Object, key_of
from cobaltcore.runtime.timestamps import timestamp
from cobaltcore.runtime.transport import Transport

FIRST_VERSION = 10**15
"""Above every resource version of the server, so that caches take the answers for newer."""
SET_BY_SERVER = ("resourceVersion", "generation", "uid", "creationTimestamp", "managedFields")

Respond = Callable[[Kind, Object], Object]
"""The object with the status that others report after it was written."""
Listener = Callable[[Kind, Key, Object | None], None]
"""Called for every object that would change, with None if it is gone."""


@dataclass(frozen=True, slots=True)
class Write:
    """One object that would be written."""

    kind: Kind
    key: Key
    outcome: Outcome
    before: Object | None
    after: Object | None


class DryRunClient(Client):
    """Reads from the server, and answers writes without making them."""

    def __init__(
        self,
        transport: Transport,
        *,
        respond: Respond = lambda kind, obj: obj,
        finalizers: Collection[str] = (),
    ) -> None:
        super().__init__(transport)
        self._respond = respond
        self._finalizers = finalizers
        """Those that controllers of this process remove; others are assumed to be removed."""
        self._local: dict[tuple[Kind, Key], Object | None] = {}
        self._versions = itertools.count(FIRST_VERSION)
        self.listener: Listener = lambda kind, key, obj: None
        self.writes: list[Write] = []

    @property
    def local(self) -> Mapping[tuple[Kind, Key], Object | None]:
        """Every object that would change, as it would be; None if it would be gone."""
        return self._local

    def version(self) -> str:
        """A resource version that is newer than all before."""
        return str(next(self._versions))

    async def get(self, kind: Kind, key: Key) -> Object:
        if (kind, key) not in self._local:
            return await super().get(kind, key)
        found = self._local[kind, key]
        if found is None:
            raise errors.NotFound(404, "NotFound", f'{kind} "{key.name}" not found')
        return deepcopy(found)

    async def current(self, kind: Kind, key: Key) -> Object | None:
        """The object as it would be now."""
        try:
            return await self.get(kind, key)
        except errors.NotFound:
            return None

    async def apply(
        self,
        kind: Kind,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = True,
    ) -> Object:
        async def ask() -> Object:
            return await super(DryRunClient, self).apply(
                kind, obj, manager=manager, subresource=subresource, force=force, dry_run=True
            )

        return await self._written(kind, key_of(obj), ask, obj)

    async def apply_merge(self, kind: Kind, key: Key, patch: Mapping[str, Any]) -> Object:
        """As a merge patch of the whole object, checked by the server."""

        async def ask() -> Object:
            return await super(DryRunClient, self).patch(kind, key, patch, dry_run=True)

        return await self._written(kind, key, ask, patch)

    async def apply_status(
        self, kind: Kind, obj: Mapping[str, Any], *, manager: str
    ) -> CachedObject:
        """Statuses are answered here: they depend on objects that exist nowhere else."""
        key = key_of(obj)
        before = await self.get(kind, key)
        after = {**before, "status": deepcopy(dict(obj["status"]))}
        self._keep(kind, key, self._respond(kind, after))
        return CachedObject.of(deepcopy(after))

    async def patch(
        self,
        kind: Kind,
        key: Key,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        dry_run: bool = True,
    ) -> Object:
        if kind == EVENT:
            return dict(patch)
        before = await self.get(kind, key)
        after: Object = _merged(before, _without_version(patch))
        if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
            self.forget(kind, key)
            return after
        self._record(kind, key, before, after)
        return self._keep(kind, key, after)

    async def create(self, kind: Kind, obj: Object) -> Object:
        if kind != EVENT:
            raise errors.RuntimeFault(f"{kind.kind} cannot be created in a dry run")
        return obj

    async def delete(
        self, kind: Kind, key: Key, *, uid: str = "", version: str = "", propagation: str = ""
    ) -> None:
        before = await self.current(kind, key)
        if before is None or before["metadata"].get("deletionTimestamp"):
            return
        self.writes.append(Write(kind, key, "deleted", before, None))
        held = [f for f in before["metadata"].get("finalizers") or () if f in self._finalizers]
        if not held:
            self.forget(kind, key)
            return
        deleted = timestamp(datetime.now(UTC))
        changes = {"finalizers": held, "deletionTimestamp": deleted}
        self._keep(kind, key, _merged(before, {"metadata": changes}))

    def observe(self, kind: Kind, obj: Object) -> None:
        """Keep an object that another controller would create."""
        obj["metadata"].setdefault("uid", f"dry-run-{self.version()}")
        obj["metadata"].setdefault("creationTimestamp", timestamp(datetime.now(UTC)))
        self._keep(kind, key_of(obj), obj)

    async def _written(
        self, kind: Kind, key: Key, ask: Callable[[], Awaitable[Object]], wanted: Mapping[str, Any]
    ) -> Object:
        before = await self.current(kind, key)
        # The server still has what would be deleted, and would answer with a change of it.
        gone = (kind, key) in self._local and before is None
        answer = deepcopy(dict(wanted)) if gone else await ask()
        after = _completed(before, answer)
        if before is not None and same(before, after):
            return before
        self._record(kind, key, before, after)
        return self._keep(kind, key, self._respond(kind, after))

    def _record(self, kind: Kind, key: Key, before: Object | None, after: Object) -> None:
        if before is None:
            self.writes.append(Write(kind, key, "created", None, after))
        elif not same(before, after):
            self.writes.append(Write(kind, key, "configured", before, after))

    def _keep(self, kind: Kind, key: Key, obj: Object) -> Object:
        obj["metadata"]["resourceVersion"] = self.version()
        self._local[kind, key] = obj
        self.listener(kind, key, deepcopy(obj))
        return deepcopy(obj)

    def forget(self, kind: Kind, key: Key) -> None:
        """Drop an object that another controller would delete."""
        self._local[kind, key] = None
        self.listener(kind, key, None)


def same(before: Object, after: Object) -> bool:
    """Whether two versions differ in their status at most."""
    return bool(content(before) == content(after))


def content(obj: Object) -> Object:
    """An object without its status and what the server sets."""
    meta = {name: v for name, v in obj["metadata"].items() if name not in SET_BY_SERVER}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": meta}


def _completed(before: Object | None, answer: Object) -> Object:
    """The answer with what is known about the object; the server knows nothing of earlier writes."""
    after = deepcopy(answer)
    meta = after["metadata"]
    if before is None:
        meta.setdefault("uid", f"dry-run-{meta['name']}")
        meta.setdefault("creationTimestamp", timestamp(datetime.now(UTC)))
        meta["generation"] = 1
        return after
    known = before["metadata"]
    meta |= {name: known[name] for name in ("uid", "creationTimestamp") if name in known}
    if known.get("finalizers") and not meta.get("finalizers"):
        meta["finalizers"] = known["finalizers"]
    changed = {k: v for k, v in content(before).items() if k != "metadata"} != {
        k: v for k, v in content(after).items() if k != "metadata"
    }
    meta["generation"] = known.get("generation", 1) + int(changed)
    if "status" in before:
        after["status"] = before["status"]
    return after


def _without_version(patch: Mapping[str, Any]) -> dict[str, Any]:
    meta = dict(patch.get("metadata") or {})
    meta.pop("resourceVersion", None)
    return {**patch, **({"metadata": meta} if meta else {})}


def _merged(value: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    found = dict(value) if isinstance(value, Mapping) else {}
    for name, each in patch.items():
        if each is None:
            found.pop(name, None)
        else:
            found[name] = _merged(found.get(name), each)
    return found
