"""ControlPlane: walk the graph, apply what may be applied, report."""

import os
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from cobaltcore.api import cinder, glance, keystone, neutron, nova, ovn, placement
from cobaltcore.api.controlplane import KIND, ControlPlane, ControlPlaneStatus
from cobaltcore.api.credentials import AGGREGATE, ROTATION
from cobaltcore.api.foreign import certmanager, eso, korc, mariadb, rabbitmq, rook, valkey
from cobaltcore.api.foreign.kubernetes import (
    JOB,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.engine import graph, releases, sources
from cobaltcore.engine.desired import names
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.operator import Context
from cobaltcore.engine.sources import CONTENT, OPTIONAL, OURS
from cobaltcore.operators.controlplane import identity, report
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.teardown import FINALIZER, Teardown
from cobaltcore.operators.controlplane.view import OPERATOR, View
from cobaltcore.runtime import conditions, finalizers, status
from cobaltcore.runtime.apply import Applier
from cobaltcore.runtime.controller import Controller, KeysOf, Source, owner, unless_told
from cobaltcore.runtime.events import Recorder
from cobaltcore.runtime.meta import Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

MANAGER = "c5c3-operator"
CHILDREN: tuple[tuple[Kind, Scope], ...] = (
    (mariadb.MARIADB, OPTIONAL),
    (rabbitmq.CLUSTER, OPTIONAL),
    (valkey.VALKEY, OPTIONAL),
    (STATEFUL_SET, Scope()),
    (SERVICE, OURS),
    (POD_DISRUPTION_BUDGET, OURS),
    (SECRET, CONTENT),
    (JOB, OURS),
    (certmanager.ISSUER, OPTIONAL),
    (certmanager.CERTIFICATE, OPTIONAL),
    (rook.CEPH_BLOCK_POOL, OPTIONAL),
    (rook.CEPH_CLIENT, OPTIONAL),
    (korc.DOMAIN, OPTIONAL),
    (korc.PROJECT, OPTIONAL),
    (korc.ROLE, OPTIONAL),
    (korc.SERVICE, OPTIONAL),
    (korc.ENDPOINT, OPTIONAL),
    (korc.USER, OPTIONAL),
    (korc.ROLE_ASSIGNMENT, OPTIONAL),
    (eso.PUSH_SECRET, OPTIONAL),
    (eso.EXTERNAL_SECRET, OPTIONAL),
    (ROTATION, Scope()),
    (AGGREGATE, Scope()),
    *((each.KIND, Scope()) for each in (keystone, glance, placement, nova, neutron, cinder)),
    (ovn.CLUSTER, Scope()),
)
KEPT: frozenset[Kind] = frozenset({SECRET})
"""Kinds that are not removed with the part that made them: passwords of data that stays."""
READ_SECRETS = frozenset({identity.ADMIN_SECRET, names.certificate_secret(identity.KEYSTONE)})
"""Secrets whose content goes into other objects."""


class ControlPlaneController:
    """Brings control planes in order."""

    def __init__(self, context: Context) -> None:
        self._cluster = context.cluster
        self._clock = context.clock
        self._applier = Applier(context.cluster, manager=MANAGER)
        events = Recorder(
            context.cluster, component=MANAGER, instance=context.instance, clock=context.clock
        )
        self._teardown = Teardown(context.cluster, context.clock, events)
        sources.index_pods_of_jobs(context.cluster)
        self.controller = Controller(
            "controlplane",
            self.reconcile,
            [
                Source(KIND, unless_told),
                *(Source(kind, self._concerned(kind), scope) for kind, scope in CHILDREN),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """One pass over one control plane."""
        live = self._cluster.informer(KIND).get(key)
        if live is None:
            return None
        plane = msgspec.convert(live, ControlPlane)
        view = await self._view(plane)
        if live["metadata"].get("deletionTimestamp"):
            return await self._teardown.step(live, view)
        live = await finalizers.add(self._cluster, KIND, live, FINALIZER)
        walk = graph.walk(PARTS, view)
        changes = await self._applier.apply(walk.apply, owner=live)
        if changes.changed:
            # What was just written is not ready because its predecessor was.
            view = await self._view(plane)
            walk = graph.walk(PARTS, view)
        keep = {(each.kind, each.key) for each in (*walk.apply, *walk.expected)}
        kinds = [kind for kind, _ in CHILDREN if kind not in KEPT]
        await self._applier.prune(live, kinds, keep=keep)
        await self._report(live, view, walk)
        return None

    def _concerned(self, kind: Kind) -> KeysOf:
        """The owner or maker; for Secrets also every control plane that reads one of that name."""

        def keys(change: Change) -> Iterator[Key]:
            yield from owner(KIND)(change)
            labels = change.latest["metadata"].get("labels") or {}
            if labels.get("app.kubernetes.io/name") == OPERATOR:
                yield Key(change.key.namespace, labels["app.kubernetes.io/instance"])
            if kind != SECRET:
                return
            for obj in self._cluster.informer(KIND).objects(change.key.namespace):
                if change.key.name in READ_SECRETS | _given(msgspec.convert(obj, ControlPlane)):
                    yield key_of(obj)

        return keys

    async def _view(self, plane: ControlPlane) -> View:
        contents: dict[tuple[Kind, Key], Object] = {}
        for name in sorted(READ_SECRETS | _given(plane)):
            key = Key(plane.metadata.namespace, name)
            found = await self._cluster.read(SECRET, key)
            if found is not None:
                contents[SECRET, key] = found
        observed = Observed(
            lambda kind, key: self._cluster.informer(kind).get(key),
            lambda kind, index, value: self._cluster.informer(kind).find(index, value),
            contents,
        )
        return View(plane, observed, os.urandom, releases.image_tag)

    async def _report(self, live: Object, view: View, walk: graph.Walk) -> None:
        plane = view.plane
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
            identity=report.identity(view, walk),
        )
        built = msgspec.to_builtins(told)
        await status.write(self._cluster, KIND, live, built, manager=MANAGER)


def _given(plane: ControlPlane) -> set[str]:
    """Secrets that the user names and that are read here."""
    tls = plane.spec.global_.tls
    return {tls.secret_ref.name} if tls and tls.secret_ref else set()
