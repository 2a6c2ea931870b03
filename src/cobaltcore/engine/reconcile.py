"""Observe, plan, apply, report: the one reconcile loop of the product.

An operator brings a Planner; everything with an effect is here. A reconcile that fails is reported
on the object by `failed`, which the controller calls.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic

import msgspec

from cobaltcore.api.base import Resource
from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine import grants, report
from cobaltcore.engine.asking import Asker
from cobaltcore.engine.context import Context
from cobaltcore.engine.observed import Contents, Observed
from cobaltcore.engine.plan import Action, Plan, Removal
from cobaltcore.engine.planner import Planner, ScopeT
from cobaltcore.engine.prospect import Prospect
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.verdict import Blocked, InputInvalid
from cobaltcore.runtime import errors, fence, finalizers, status
from cobaltcore.runtime.apply import Applier, ResourceConflict
from cobaltcore.runtime.changeset import ChangeSet
from cobaltcore.runtime.controller import (
    Controller,
    Source,
    itself,
    owner,
    unless_own_status_update,
)
from cobaltcore.runtime.meta import Key, Kind, Object, key_of, ownership

LOOK_AGAIN_AFTER_CONFLICT = timedelta(seconds=30)
"""The conflicting object is not ours: its deletion may not trigger a reconcile."""
KEPT_CONFIG_MAPS = 3
"""A failed rollout needs the configuration of the pods that still run."""


class Reconciler(Generic[ScopeT]):
    """Runs one planner."""

    def __init__(self, planner: Planner[ScopeT], context: Context) -> None:
        self._planner = planner
        self._cluster = context.cluster
        self._clock = context.clock
        self._pods = context.pods
        self._applier = Applier(context.cluster, manager=planner.manager)
        self.controller = Controller(
            planner.name,
            self.reconcile,
            self._sources(),
            clock=context.clock,
            failed=self.failed,
        )
        self._asker = Asker(planner, context, wake=self.controller.queue.add)
        self._reporter = report.Reporter(context, planner, is_dirty=self.controller.queue.is_dirty)

    @property
    def controllers(self) -> list[Controller]:
        """The reconciles, and the questions that are asked apart from them."""
        return [self.controller, *self._asker.controllers]

    @property
    def kind(self) -> Kind:
        """The kind that it works on."""
        return self._planner.kind

    async def reconcile(self, key: Key) -> timedelta | None:
        cached = self._cluster.informer(self._planner.kind)
        live = cached.get(key)
        if live is None:
            return None
        deleting = bool(live["metadata"].get("deletionTimestamp"))
        finalizer = self._planner.finalizer
        if deleting and not (finalizer and finalizers.present(live, finalizer)):
            return None
        fault = cached.faults.of(key)
        if fault is not None and not deleting:
            raise fault
        if finalizer and not deleting:
            live = await finalizers.add(self._cluster, self._planner.kind, live, finalizer)
        try:
            scope = await self._observe(live)
        except msgspec.ValidationError as error:
            await self._reporter.rejected(
                live, Blocked("SpecInvalid", f"object is invalid: {error}")
            )
            return None
        if deleting:
            return await self._tear_down(live, self._planner.teardown(scope))
        return await self._converge(live, scope)

    async def planned(self, live: Object) -> Prospect:
        """What a reconcile would find and do; nothing is written, and no probe is asked."""
        scope = await self._observe(live, ask=False)
        planner = self._planner
        deleting = bool(live["metadata"].get("deletionTimestamp"))
        try:
            plan = planner.teardown(scope) if deleting else planner.plan(scope)
            self._pods.check(plan.objects)
        except InputInvalid as refused:
            plan = Plan(verdict=refused.verdict)
        named = tuple(dict.fromkeys(planner.references(scope.key, scope.spec)))
        return Prospect(
            report.without_secrets(plan, scope),
            named,
            scope.observed.contents,
            any(each.decides for each in planner.probes),
        )

    async def failed(self, key: Key, error: Exception, failures: int) -> None:
        """Report a failed reconcile on the object; a fault that may pass is reported if it stays."""
        live = self._cluster.informer(self._planner.kind).get(key)
        if live is not None and not report.may_pass(error, failures):
            await self._reporter.rejected(live, report.verdict_of(error))

    async def _converge(self, live: Object, scope: ScopeT) -> timedelta | None:
        try:
            plan = self._planner.plan(scope)
            self._pods.check(plan.objects)
        except InputInvalid as refused:
            await self._reporter.rejected(live, refused.verdict)
            return None
        try:
            changes = await self._apply(live, plan)
        except ResourceConflict as conflict:
            hint = f"; {conflict.hint}" if conflict.hint else ""
            verdict = Blocked("ResourceConflict", f"{conflict.message}{hint}")
            await self._reporter.planned(scope, replace(plan, verdict=verdict))
            return LOOK_AGAIN_AFTER_CONFLICT
        if changes.changed and plan.ready:
            # What was just written is not ready because its predecessor was.
            scope = await self._observe(live, before=scope, changes=changes)
            plan = self._planner.plan(scope)
        await self._reporter.planned(scope, plan)
        await self._act(plan)
        return plan.after

    async def _tear_down(self, live: Object, plan: Plan[object]) -> timedelta | None:
        await self._apply(live, plan)
        await self._reporter.record(live, plan.events)
        await self._act(plan)
        if plan.done:
            kind, finalizer = self._planner.kind, self._planner.finalizer
            await finalizers.remove(self._cluster, kind, live, finalizer)
        return plan.after

    async def _observe(
        self,
        live: Object,
        *,
        before: ScopeT | None = None,
        changes: ChangeSet | None = None,
        ask: bool = True,
    ) -> ScopeT:
        scope = self._planner.scope(
            live=live,
            resource=self._decoded(live),
            observed=self._caches(key_of(live).namespace),
            now=self._clock.now(),
            random=os.urandom,
            changes=changes,
        )
        contents = await self._read(scope.observed, self._planner.contents(scope))
        if before is not None and before.observed.contents == contents:
            # The same input renders the same configuration.
            scope = replace(scope, memo=before.memo)
        scope = replace(scope, observed=replace(scope.observed, contents=contents))
        if before is not None:
            return replace(scope, answers=before.answers)
        return replace(scope, answers=await self._ask(scope)) if ask else scope

    def _decoded(self, live: Object) -> Resource[Any, Any]:
        """The object as its type; one that is being deleted may have a spec that no release accepts."""
        planner = self._planner
        try:
            found: Resource[Any, Any] = msgspec.convert(live, planner.resource)
        except msgspec.ValidationError:
            if not live["metadata"].get("deletionTimestamp"):
                raise
            readable = {**live, "spec": dict(planner.teardown_spec), "status": None}
            found = msgspec.convert(readable, planner.resource)
        return found

    def _caches(self, namespace: str) -> Observed:
        informer = self._cluster.informer
        return Observed(
            lambda kind, key: informer(kind).get(key),
            lambda kind, index, value: informer(kind).find(index, value),
            lambda kind, namespace: informer(kind).objects(namespace),
            permit=lambda kind, key: self._permit(namespace, kind, key),
        )

    def _permit(self, namespace: str, kind: Kind, key: Key) -> None:
        if grants.crosses(namespace, kind, key):
            known = self._cluster.informer(REFERENCE_GRANT) if self._asks_for_grants else None
            found = known.objects(key.namespace) if known is not None else ()
            grants.check(self._planner.kind, namespace, kind, key, found)

    @property
    def _asks_for_grants(self) -> bool:
        return any(watch.kind == REFERENCE_GRANT for watch in self._planner.watches)

    async def _read(self, observed: Observed, wanted: Iterable[tuple[Kind, Key]]) -> Contents:
        found: dict[tuple[Kind, Key], Object] = {}
        for kind, key in dict.fromkeys(wanted):
            try:
                observed.permit(kind, key)
            except InputInvalid:
                # Planning reports it, if it uses the reference at all.
                continue
            content = await self._cluster.read(kind, key)
            if content is not None:
                found[kind, key] = content
        return found

    async def _ask(self, scope: ScopeT) -> Mapping[str, Answer[object]]:
        return await self._asker.answers(scope)

    async def _apply(self, live: Object, plan: Plan[object]) -> ChangeSet:
        for removal in plan.removals:
            await self._remove(removal)
        changes = await self._applier.apply(plan.objects, owner=live)
        if plan.prune:
            keep = {*plan.keep, *self._recent_config_maps(live)}
            keep.update((each.kind, each.key) for each in plan.objects)
            kinds = [child.kind for child in self._planner.children if child.pruned]
            await self._applier.prune(live, kinds, keep=keep)
        return changes

    async def _remove(self, removal: Removal) -> None:
        found = self._cluster.informer(removal.kind).get(removal.key)
        if found is not None and not found["metadata"].get("deletionTimestamp"):
            await self._cluster.client.delete(
                removal.kind,
                removal.key,
                uid=found["metadata"]["uid"],
                propagation=removal.propagation,
            )

    def _recent_config_maps(self, live: Object) -> Iterable[tuple[Kind, Key]]:
        """The newest of each name, which ends in a digest of its content."""
        if not any(child.kind == CONFIG_MAP for child in self._planner.children):
            return []
        owned = self._cluster.informer(CONFIG_MAP).find("owner", ownership(live))
        newest = sorted(owned, key=lambda o: o["metadata"]["creationTimestamp"], reverse=True)
        kept: dict[str, list[Key]] = {}
        for each in newest:
            key = key_of(each)
            kept.setdefault(key.name.rpartition("-")[0], []).append(key)
        return [(CONFIG_MAP, key) for keys in kept.values() for key in keys[:KEPT_CONFIG_MAPS]]

    async def _act(self, plan: Plan[object]) -> None:
        for report_ in plan.reports:
            await status.write(
                self._cluster,
                report_.kind,
                report_.live,
                report_.status,
                manager=self._planner.manager,
            )
        for action in plan.actions:
            await self._run(action)
        for release in plan.releases:
            await finalizers.remove(self._cluster, release.kind, release.live, release.finalizer)

    async def _run(self, action: Action) -> None:
        fence.check()
        try:
            async with asyncio.timeout(action.limit.total_seconds()):
                await action.run(self._cluster)
        except TimeoutError as error:
            seconds = action.limit.total_seconds()
            raise errors.Unreachable(f"{action.name}: not done within {seconds:g} s") from error

    def _sources(self) -> Iterable[Source]:
        planner, cluster = self._planner, self._cluster
        own = cluster.informer(planner.kind)
        own.add_index("references", self._references, spec_only=True)
        yield Source(
            planner.kind, itself if planner.reads_own_status else unless_own_status_update
        )
        for child in planner.children:
            yield Source(child.kind, owner(planner.kind), child.scope)
        for watch in planner.watches:
            informer = cluster.informer(watch.kind, watch.scope)
            for name, values in watch.indexes.items():
                informer.add_index(name, values)
            yield Source(watch.kind, watch.keys(cluster, planner.kind), watch.scope)

    def _references(self, obj: Object) -> Iterable[str]:
        try:
            spec = msgspec.convert(obj, self._planner.resource).spec
        except msgspec.ValidationError:
            # The reconcile of the object itself reports it.
            return
        for kind, key in self._planner.references(key_of(obj), spec):
            yield f"{kind.kind}/{key}"
