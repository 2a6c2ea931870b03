"""Runs the reconcilers of all operators on caches that a dry run changes, until nothing is left to do.

The reconcilers are those of the operators. Only what has an effect outside of Kubernetes is left
out: probes are not asked, actions are not run.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from cobaltcore.api.foreign.kubernetes import ENDPOINT_SLICE, POD
from cobaltcore.engine.dryrun import responses
from cobaltcore.engine.plan import Action
from cobaltcore.engine.planner import ScopeT
from cobaltcore.engine.reconcile import Reconciler
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.verdict import STALLED
from cobaltcore.runtime import conditions, errors
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.controller import Source
from cobaltcore.runtime.dryrun import DryRunClient
from cobaltcore.runtime.meta import Key, Kind, Object, ownership
from cobaltcore.runtime.store import Change

MOST_RECONCILES = 5000
DERIVED = (ENDPOINT_SLICE, POD)
"""Kinds whose objects come and go with a Service, a set of pods or a Job, which are reported."""


class DryRunReconciler(Reconciler[ScopeT]):
    """A reconciler without effects outside of Kubernetes."""

    async def _ask(self, scope: ScopeT) -> Mapping[str, Answer[object]]:
        return {}

    async def _run(self, action: Action) -> None:
        return


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that an operator could not or would not reconcile."""

    kind: Kind
    key: Key
    message: str


class Driver:
    """Reconciles whatever a change concerns, and what that changes in turn."""

    def __init__(
        self, cluster: Cluster, client: DryRunClient, reconcilers: Iterable[Reconciler[Any]]
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._cached = {each.kind for each in cluster.informers}
        self._due: deque[tuple[Reconciler[Any], Key]] = deque()
        self._orphans: list[tuple[Kind, Key]] = []
        self.refusals: list[Refusal] = []
        client.listener = self._changed
        for each in reconcilers:
            for source in each.controller.sources:
                handler = partial(self._enqueue, each, source)
                cluster.informer(source.kind, source.scope).on_change(handler)

    async def settle(self) -> None:
        """Reconcile until nothing is due."""
        for _ in range(MOST_RECONCILES):
            await self._collect_garbage()
            if not self._due:
                break
            reconciler, key = self._due.popleft()
            await self._reconcile(reconciler, key)
        else:
            raise errors.RuntimeFault(
                f"not settled after {MOST_RECONCILES} reconciles",
                hint="two operators undo each other's changes: report this with the file",
            )
        self._find_stalled()

    async def _reconcile(self, reconciler: Reconciler[Any], key: Key) -> None:
        try:
            await reconciler.reconcile(key)
        except (errors.RuntimeFault, msgspec.ValidationError, LookupError, ValueError) as error:
            self._refused(reconciler.kind, key, str(error))

    def _refused(self, kind: Kind, key: Key, message: str) -> None:
        known = Refusal(kind, key, message)
        if known not in self.refusals:
            self.refusals.append(known)

    def _find_stalled(self) -> None:
        """Objects of which a person would have to change the spec."""
        for (kind, key), obj in self._client.local.items():
            stalled = conditions.find(conditions.of(obj), STALLED)
            if stalled is not None and stalled.status == "True":
                self._refused(kind, key, f"{stalled.reason}: {stalled.message}")

    def _enqueue(self, reconciler: Reconciler[Any], source: Source, change: Change) -> None:
        if change.initial:
            return
        for key in source.keys(change):
            if (reconciler, key) not in self._due:
                self._due.append((reconciler, key))

    def _changed(self, kind: Kind, key: Key, obj: Object | None) -> None:
        """Bring the caches to what the server would send."""
        if obj is None:
            before = self._cluster.informer(kind).get(key) if kind in self._cached else None
            if before is not None:
                self._orphans += self._dependents(before)
                version = int(self._client.version())
                self._cluster.observe_deletion(kind, key, version=version)
            return
        is_new = kind in self._cached and self._cluster.informer(kind).get(key) is None
        if kind in self._cached:
            self._cluster.observe(kind, obj)
        if is_new:
            for other, follower in responses.followers(kind, obj):
                self._follow(other, follower)

    def _follow(self, kind: Kind, obj: Object) -> None:
        meta = obj["metadata"]
        if self._cluster.informer(kind).get(Key(meta["namespace"], meta["name"])) is None:
            self._client.observe(kind, obj)

    def _dependents(self, owner: Object) -> list[tuple[Kind, Key]]:
        uid = owner["metadata"].get("uid", "")
        if not uid:
            return []
        return [
            (informer.kind, Key(each["metadata"].get("namespace", ""), each["metadata"]["name"]))
            for informer in self._cluster.informers
            for each in informer.find("owner", ownership(owner))
            if all(ref["uid"] == uid for ref in each["metadata"]["ownerReferences"])
        ]

    async def _collect_garbage(self) -> None:
        while self._orphans:
            kind, key = self._orphans.pop(0)
            if kind in DERIVED:
                self._client.forget(kind, key)
            else:
                await self._client.delete(kind, key)
