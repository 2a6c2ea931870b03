"""Apply desired objects, with no request for those that have no drift.

An object is annotated with the digest of what was last applied. If the digest is the same and every
applied field still has its value, there is nothing to do. A field that left the desired state
changes the digest, and server-side apply releases it. The server normalizes some values (1000m
to 1); what it returned for the last request is remembered and compared instead.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from cobaltcore.runtime import diff, errors
from cobaltcore.runtime.changeset import Applied, ChangeSet, Outcome
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import (
    APPLIED,
    Desired,
    Key,
    Kind,
    Object,
    key_of,
    owner_reference,
    ownership,
)


class ResourceConflict(errors.RuntimeFault):
    """A desired object exists and is managed or owned by something else."""


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
            changes.add(await self._apply_one(each, each.owner or owner))
        return changes

    async def prune(
        self, owner: Object, kinds: Iterable[Kind], *, keep: Collection[tuple[Kind, Key]]
    ) -> ChangeSet:
        """Delete children of `owner` that are not to be kept."""
        changes = ChangeSet()
        for kind in kinds:
            for child in self._cluster.informer(kind).find("owner", ownership(owner)):
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
        controller = None if desired.kept else owner
        kind, wanted = desired.kind, _completed(desired.kind, desired.body, controller)
        key = key_of(wanted)
        live = await self._cluster.read(kind, key)
        if live is not None:
            if not _is_adopted(live, desired.adopts):
                _check_ownership(kind, live, owner)
            if desired.once:
                return await self._set_owner(kind, live, controller, wanted)
            if self._converged(kind, key, wanted, live):
                return Applied(kind, key, "unchanged", live)
        result = await self._send(kind, wanted, known=live is not None)
        self._accepted[kind, key] = _Accepted(_digest(wanted), diff.project(result, wanted))
        self._cluster.observe(kind, result)
        return Applied(kind, key, _outcome(live, result), result)

    async def _set_owner(
        self, kind: Kind, live: Object, owner: Object | None, desired: Object
    ) -> Applied:
        """Change nothing but the owner, with which an object is garbage collected.

        An adopted object gets our marks as well: it is found and recognised by them.
        """
        key, meta = key_of(live), live["metadata"]
        wanted = [owner_reference(owner)] if owner is not None else []
        is_marked = APPLIED in (meta.get("annotations") or {})
        is_owned = (meta.get("ownerReferences") or []) == wanted
        if (is_owned and is_marked) or meta.get("deletionTimestamp"):
            return Applied(kind, key, "unchanged", live)
        change: Object = {"ownerReferences": wanted, "uid": meta["uid"]}
        if not is_marked:
            change["annotations"] = {APPLIED: _digest(desired)}
            change["labels"] = desired["metadata"].get("labels") or {}
        result = await self._cluster.client.patch(kind, key, {"metadata": change})
        self._cluster.observe(kind, result)
        return Applied(kind, key, "configured", result)

    async def _send(self, kind: Kind, wanted: Object, *, known: bool) -> Object:
        """Fields of an object that the cache does not hold are not taken over by force."""
        try:
            return await self._cluster.client.apply(
                kind, wanted, manager=self._manager, force=known
            )
        except errors.Conflict as conflict:
            if known or conflict.reason != "Conflict":
                raise
            raise ResourceConflict(
                f'{kind.kind} "{key_of(wanted)}" exists and has another field manager: '
                f"{conflict.message}",
                hint="delete or rename that object",
            ) from conflict

    def _converged(self, kind: Kind, key: Key, wanted: Object, live: Object) -> bool:
        if live["metadata"].get("deletionTimestamp"):
            # It cannot be changed any more; the reconcile after its deletion recreates it.
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


def _completed(kind: Kind, body: Mapping[str, Any], owner: Object | None) -> Object:
    """Add type, owner reference and digest to a desired object."""
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


def _is_adopted(live: Object, adopts: Collection[str] | None) -> bool:
    """Whether it is taken over, be it without an owner or of a kind that may give it away."""
    references = live["metadata"].get("ownerReferences") or ()
    return adopts is not None and all(each["kind"] in adopts for each in references)


def _check_ownership(kind: Kind, live: Object, owner: Object | None) -> None:
    meta = live["metadata"]
    references = meta.get("ownerReferences") or ()
    if owner is None or not references:
        # An object that was applied and has no owner was kept when its owner was deleted.
        ours = APPLIED in (meta.get("annotations") or {})
    else:
        ours = any(reference["uid"] == owner["metadata"]["uid"] for reference in references)
    if not ours:
        expected = f'owned by {owner["kind"]} "{key_of(owner)}"' if owner else "managed by cobalt"
        raise ResourceConflict(
            f'{kind.kind} "{key_of(live)}" exists and is not {expected}',
            hint="delete or rename that object",
        )
