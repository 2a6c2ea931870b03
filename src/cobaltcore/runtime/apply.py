"""Make the cluster look like the desired objects, with no request for what already does.

An object carries the digest of what we last applied. If the digest is the same and every field of
ours still has its value, there is nothing to do. A field that left the desired state changes the
digest, and server-side apply releases it. Some values come back in another spelling (1000m as 1);
what the server made of our last request is remembered and compared instead.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from cobaltcore.runtime import diff, errors
from cobaltcore.runtime.changeset import Applied, ChangeSet, Outcome
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, key_of, owner_reference

APPLIED = "c5c3.io/applied"


class ForeignObject(errors.RuntimeFault):
    """An object that we want to make exists and belongs to somebody else."""


class _Accepted(NamedTuple):
    digest: str
    fields: Any


class Applier:
    """Applies desired objects on behalf of one controller."""

    def __init__(self, cluster: Cluster, *, manager: str) -> None:
        self._cluster = cluster
        self._manager = manager
        self._accepted: dict[tuple[Kind, Key], _Accepted] = {}

    async def apply(self, desired: Iterable[Desired], *, owner: Object | None = None) -> ChangeSet:
        """Apply objects in order, as children of `owner` if there is one."""
        changes = ChangeSet()
        for each in desired:
            changes.add(await self._apply_one(each, owner))
        return changes

    async def prune(
        self, owner: Object, kinds: Iterable[Kind], *, keep: Collection[tuple[Kind, Key]]
    ) -> ChangeSet:
        """Delete children of `owner` that are not to be kept."""
        changes = ChangeSet()
        for kind in kinds:
            for child in self._cluster.informer(kind).find("owner", owner["metadata"]["uid"]):
                if (kind, key_of(child)) not in keep:
                    await self._delete(kind, child, changes)
        return changes

    async def _delete(self, kind: Kind, obj: Object, changes: ChangeSet) -> None:
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            return
        key = key_of(obj)
        await self._cluster.client.delete(kind, key, uid=meta["uid"], propagation="Background")
        self._accepted.pop((kind, key), None)
        changes.add(Applied(kind, key, "deleted", obj))

    async def _apply_one(self, desired: Desired, owner: Object | None) -> Applied:
        held_by = None if desired.kept else owner
        kind, wanted = desired.kind, _marked(desired.kind, desired.body, held_by)
        key = key_of(wanted)
        live = await self._cluster.read(kind, key)
        if live is not None:
            _refuse_foreign(kind, live, owner)
            if desired.once:
                return await self._hold(kind, live, held_by)
            if self._converged(kind, key, wanted, live):
                return Applied(kind, key, "unchanged", live)
        result = await self._send(kind, wanted, known=live is not None)
        self._accepted[kind, key] = _Accepted(_digest(wanted), diff.project(result, wanted))
        self._cluster.observe(kind, result)
        return Applied(kind, key, _outcome(live, result), result)

    async def _hold(self, kind: Kind, live: Object, owner: Object | None) -> Applied:
        """Change nothing of an object but whether it goes with its owner."""
        key, known = key_of(live), live["metadata"].get("ownerReferences") or []
        wanted = [owner_reference(owner)] if owner is not None else []
        if known == wanted or live["metadata"].get("deletionTimestamp"):
            return Applied(kind, key, "unchanged", live)
        patch = {"metadata": {"ownerReferences": wanted, "uid": live["metadata"]["uid"]}}
        result = await self._cluster.client.patch(kind, key, patch)
        self._cluster.observe(kind, result)
        return Applied(kind, key, "configured", result)

    async def _send(self, kind: Kind, wanted: Object, *, known: bool) -> Object:
        """An object that we do not know is not taken over from another manager."""
        try:
            return await self._cluster.client.apply(
                kind, wanted, manager=self._manager, force=known
            )
        except errors.Conflict as conflict:
            if known or conflict.reason != "Conflict":
                raise
            raise ForeignObject(
                f"{kind.kind} {key_of(wanted)} exists and is managed by somebody else: "
                f"{conflict.message}",
                hint="delete or rename that object",
            ) from conflict

    def _converged(self, kind: Kind, key: Key, wanted: Object, live: Object) -> bool:
        if live["metadata"].get("deletionTimestamp"):
            # It cannot be changed any more; the pass that follows its deletion makes it anew.
            return True
        annotations = live["metadata"].get("annotations") or {}
        if annotations.get(APPLIED) != _digest(wanted):
            return False
        if diff.contains(live, wanted):
            return True
        accepted = self._accepted.get((kind, key))
        return (
            accepted is not None
            and accepted.digest == _digest(wanted)
            and bool(diff.project(live, wanted) == accepted.fields)
        )


def _marked(kind: Kind, body: Mapping[str, Any], owner: Object | None) -> Object:
    """Complete a desired object with type, owner and digest."""
    meta = dict(body["metadata"])
    if owner is not None:
        meta["ownerReferences"] = [owner_reference(owner)]
    wanted: Object = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    fingerprint = diff.digest(wanted)
    meta["annotations"] = {**(meta.get("annotations") or {}), APPLIED: fingerprint}
    return wanted


def _outcome(live: Object | None, result: Object) -> Outcome:
    if live is None:
        return "created"
    same = live["metadata"]["resourceVersion"] == result["metadata"]["resourceVersion"]
    return "unchanged" if same else "configured"


def _digest(wanted: Object) -> str:
    fingerprint: str = wanted["metadata"]["annotations"][APPLIED]
    return fingerprint


def _refuse_foreign(kind: Kind, live: Object, owner: Object | None) -> None:
    meta = live["metadata"]
    references = meta.get("ownerReferences") or ()
    if owner is None or not references:
        # What we made and nobody owns was kept for whoever wants it next.
        ours = APPLIED in (meta.get("annotations") or {})
    else:
        ours = any(reference["uid"] == owner["metadata"]["uid"] for reference in references)
    if not ours:
        raise ForeignObject(
            f"{kind.kind} {key_of(live)} exists and does not belong to "
            f"{owner['kind'] + ' ' + str(key_of(owner)) if owner else 'us'}",
            hint="delete or rename that object",
        )
