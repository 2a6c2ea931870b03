"""ControlPlane: walk the graph, apply what may be applied, report."""

import os
from datetime import timedelta

import msgspec

from cobaltcore.api import keystone
from cobaltcore.api.controlplane import KIND, ControlPlane, ControlPlaneStatus
from cobaltcore.api.foreign import mariadb, rabbitmq, valkey
from cobaltcore.api.foreign.kubernetes import (
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine import graph, releases
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.operator import Context
from cobaltcore.engine.sources import CONTENT, OPTIONAL, OURS
from cobaltcore.operators.controlplane import report
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Controller, Source, itself, owner
from cobaltcore.runtime.meta import Key, Kind, Object, Scope

MANAGER = "c5c3-operator"
CHILDREN: tuple[tuple[Kind, Scope], ...] = (
    (mariadb.MARIADB, OPTIONAL),
    (rabbitmq.CLUSTER, OPTIONAL),
    (valkey.VALKEY, OPTIONAL),
    (STATEFUL_SET, Scope()),
    (SERVICE, OURS),
    (POD_DISRUPTION_BUDGET, OURS),
    (SECRET, CONTENT),
    (keystone.KIND, Scope()),
)
KEPT: frozenset[Kind] = frozenset({SECRET})
"""Kinds that are not removed with the part that made them: passwords of data that stays."""


class ControlPlaneController:
    """Brings control planes in order."""

    def __init__(self, context: Context) -> None:
        self._cluster = context.cluster
        self._clock = context.clock
        self._applier = Applier(context.cluster, manager=MANAGER)
        self.controller = Controller(
            "controlplane",
            self.reconcile,
            [
                Source(KIND, itself),
                *(Source(kind, owner(KIND), scope) for kind, scope in CHILDREN),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """One pass over one control plane."""
        live = self._cluster.informer(KIND).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        plane = msgspec.convert(live, ControlPlane)
        walk = graph.walk(PARTS, self._view(plane))
        await self._applier.apply(walk.apply, owner=live)
        keep = {(each.kind, each.key) for each in (*walk.apply, *walk.expected)}
        kinds = [kind for kind, _ in CHILDREN if kind not in KEPT]
        await self._applier.prune(live, kinds, keep=keep)
        await self._report(live, plane, walk)
        return None

    def _view(self, plane: ControlPlane) -> View:
        observed = Observed(
            lambda kind, key: self._cluster.informer(kind).get(key),
            lambda kind, index, value: self._cluster.informer(kind).find(index, value),
        )
        return View(plane, observed, os.urandom, releases.image_tag)

    async def _report(self, live: Object, plane: ControlPlane, walk: graph.Walk) -> None:
        before = plane.status or ControlPlaneStatus()
        generation = live["metadata"]["generation"]
        release = plane.spec.open_stack_release
        ready = walk.blocker is None
        told = ControlPlaneStatus(
            conditions=conditions.merge(
                before.conditions,
                report.conditions(walk),
                now=self._clock.now(),
                generation=generation,
            ),
            observed_generation=generation,
            phase=report.phase(walk),
            progress=report.progress(walk),
            update_phase="Idle" if ready else before.update_phase,
            installed_release=release if ready else before.installed_release,
            services=report.services(walk, releases.IMAGE_TAGS[release]),
        )
        built = msgspec.to_builtins(told)
        await status.write(self._cluster, KIND, live, built, manager=MANAGER)
