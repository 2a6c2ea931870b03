"""Observe, plan, apply, report: the only file that sees both the pure side and the cluster."""

import os
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.api.blocks import ServiceStatus
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, DEPLOYMENT, SECRET
from cobaltcore.engine import access, sources, steps, uwsgi
from cobaltcore.engine.definition import Facts, Service
from cobaltcore.engine.desired import service as address
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.operator import Context
from cobaltcore.engine.plan import Plan, plan
from cobaltcore.runtime import conditions, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Condition, Key, Kind, Object, key_of

KEPT_CONFIG_MAPS = 3


class ServiceController:
    """Brings the objects of one service kind in order."""

    def __init__(self, service: Service, context: Context) -> None:
        self._service = service
        self._cluster = context.cluster
        self._clock = context.clock
        self._manager = f"{service.name}-operator"
        self._applier = Applier(context.cluster, manager=self._manager)
        self.controller = Controller(
            service.name,
            self.reconcile,
            sources.sources(context.cluster, service),
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """One pass over one object."""
        live = self._cluster.informer(self._service.kind).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        facts = await self._observe(live)
        made = self._plan(facts)
        try:
            if await self._apply(live, made) and made.ready:
                # What was just written is not ready because its predecessor was.
                facts = await self._observe(live)
                made = self._plan(facts)
        except ForeignObject as error:
            made.conditions[0] = Condition(
                type="Ready", status="False", reason="NameTaken", message=error.message
            )
        await self._report(facts, made)
        return made.after

    def _plan(self, facts: Facts) -> Plan:
        known = facts.resource.status.conditions if facts.resource.status else []
        return plan(facts, steps.chain(facts), known=known)

    async def _observe(self, live: Object) -> Facts:
        resource = msgspec.convert(live, self._service.resource)
        contents: dict[tuple[Kind, Key], Object] = {}
        for kind, key in {*self._to_read(key_of(live), resource.spec)}:
            found = await self._cluster.read(kind, key)
            if found is not None:
                contents[kind, key] = found
        observed = Observed(
            lambda kind, key: self._cluster.informer(kind).get(key),
            lambda kind, index, value: self._cluster.informer(kind).find(index, value),
            contents,
        )
        return Facts(self._service, live, resource, observed, self._clock.now(), os.urandom)

    def _to_read(self, key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
        """Objects whose content a pass looks at."""
        for kind, other in sources.concerned(self._service, key, spec):
            if kind in (SECRET, CONFIG_MAP):
                yield kind, other
        for need in self._service.passwords(key.name, spec):
            yield SECRET, Key(key.namespace, need.name)
        for kind, name in self._service.generated(key.name):
            yield kind, Key(key.namespace, name)

    async def _apply(self, live: Object, made: Plan) -> bool:
        """Write what differs; whether anything did."""
        for kind, key in made.remove:
            found = self._cluster.informer(kind).get(key)
            if found is not None:
                uid = found["metadata"]["uid"]
                await self._cluster.client.delete(kind, key, uid=uid, propagation="Background")
        changes = await self._applier.apply(made.objects.values(), owner=live)
        if made.complete:
            keep = {*made.objects, *self._recent_config_maps(live)}
            kinds = [kind for kind, _ in sources.CHILDREN]
            await self._applier.prune(live, kinds, keep=keep)
        return changes.changed

    def _recent_config_maps(self, live: Object) -> Iterable[tuple[Kind, Key]]:
        """A rollout that goes wrong needs the configuration of the pods that still run."""
        owned = self._cluster.informer(CONFIG_MAP).find("owner", live["metadata"]["uid"])
        newest = sorted(owned, key=lambda o: o["metadata"]["creationTimestamp"], reverse=True)
        kept: dict[str, list[Key]] = {}
        for each in newest:
            key = key_of(each)
            kept.setdefault(key.name.rpartition("-")[0], []).append(key)
        return [(CONFIG_MAP, key) for keys in kept.values() for key in keys[:KEPT_CONFIG_MAPS]]

    async def _report(self, facts: Facts, made: Plan) -> None:
        generation = facts.live["metadata"]["generation"]
        before = facts.resource.status or ServiceStatus()
        merged = conditions.merge(
            before.conditions, made.conditions, now=facts.now, generation=generation
        )
        told: dict[str, Any] = {
            **(facts.live.get("status") or {}),
            "conditions": msgspec.to_builtins(merged),
            "observedGeneration": generation,
            "endpoint": endpoint(facts),
            **self._pods(facts),
            **(access.credential_in_use(facts) if made.ready else {}),
            **made.status,
        }
        kind = self._service.kind
        await status.write(self._cluster, kind, facts.live, told, manager=self._manager)

    def _pods(self, facts: Facts) -> dict[str, Any]:
        found = self._cluster.informer(DEPLOYMENT).get(facts.named("api"))
        counts = (found or {}).get("status") or {}
        selector = ",".join(f"{k}={v}" for k, v in sorted(facts.selector("api").items()))
        return {
            "replicas": counts.get("replicas", 0),
            "readyReplicas": counts.get("readyReplicas", 0),
            "selector": selector,
        }


def endpoint(facts: Facts) -> str:
    """The address of the API inside the cluster."""
    return f"{uwsgi.scheme(facts)}://{address.host(facts.key)}:{facts.service.port}"
